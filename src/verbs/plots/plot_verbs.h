/* SPDX-License-Identifier: MIT */
/* What the two plotting verbs share. */
#ifndef MEMTOOL_VERBS_PLOTS_PLOT_VERBS_H
#define MEMTOOL_VERBS_PLOTS_PLOT_VERBS_H

#include "cli/output/picture.h"

enum { MT_PLOT_MOST_DEVICES = 16 };

/* trace_plot -s of one file, for segment_plot -s. `device` -1: all. Returns the exit code. */
int mt_plot_segment_timeline(struct mt_cli *cli, const struct mt_common *common,
                             const struct mt_picture *picture, int32_t device, char **files);

/* A device that the file does not have. */
enum mt_status mt_plot_no_device(int32_t device, struct mt_error *err);

#endif
