/* SPDX-License-Identifier: MIT */
/* Flame graphs for the verbs that answer by stack: what -o FILE.svg (.png, .pdf) draws. */
#ifndef MEMTOOL_CLI_OUTPUT_FLAME_PICTURE_H
#define MEMTOOL_CLI_OUTPUT_FLAME_PICTURE_H

#include "cli/command.h"
#include "draw/plot.h"

/* The format that -o asks for by its suffix, or NULL: then the verb prints its report. */
const struct mt_plot_format *mt_flame_format(const struct mt_common *common);

/* 0, or 2 after saying that a picture holds one file only. */
int mt_flame_check(struct mt_cli *cli, const struct mt_common *common, size_t n_files);

/* Draws to r->out. The title says what, `total` what the whole width is (mt_flame_panel). */
struct mt_flame_what {
    const struct mt_snapshot *snapshot; /* NULL when frames come from several */
    const struct mt_flame *tree;
    const char *title, *total, *before;
    bool compare;
};
enum mt_status mt_flame_write(const struct mt_report *r, const struct mt_plot_format *format,
                              const struct mt_flame_what *what, struct mt_error *err) MT_NODISCARD;

/* The same of the final segments that pass f. */
enum mt_status mt_flame_write_segments(const struct mt_report *r,
                                       const struct mt_plot_format *format,
                                       const struct mt_snapshot *s, struct mt_filtered *f,
                                       enum mt_flame_by by, struct mt_error *err) MT_NODISCARD;

#endif
