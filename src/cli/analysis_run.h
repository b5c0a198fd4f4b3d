/* SPDX-License-Identifier: MIT */
/* What peak, leaks and frag have in common: files, devices, filters, reports. Private to cli/. */
#ifndef MEMTOOL_CLI_ANALYSIS_RUN_H
#define MEMTOOL_CLI_ANALYSIS_RUN_H

#include "cli/command.h"
#include "heap/stacks/categories.h"
#include "heap/stacks/filter.h"
#include "heap/walk/replay.h"

struct mt_logged; /* heap/sums/logged.h */

/* One device of one file. */
struct mt_device_run {
    const struct mt_snapshot *snapshot;
    const struct mt_replay *replay;
    struct mt_filtered *filtered; /* NULL when nothing but the device is asked for */
};

struct mt_analysis_verb {
    /* Looks at one device and keeps the result in ctx. MT_NOT_FOUND (no such moment on this
     * device) is passed over as long as another device has it. */
    enum mt_status (*device)(void *ctx, const struct mt_device_run *d, struct mt_error *err);
    /* Prints what the devices of a file gave. */
    enum mt_status (*report)(void *ctx, const struct mt_report *r, const struct mt_snapshot *s,
                             bool one_line, struct mt_error *err);
    /* Answers for figures that a program printed; NULL: the verb needs more than those. */
    enum mt_status (*logged)(void *ctx, const struct mt_report *r, const struct mt_logged *l,
                             bool one_line, struct mt_error *err);
    /* Forgets it, before the next file; also after failures. */
    void (*reset)(void *ctx);
    bool picture; /* the output is no text: nothing may stand in front of it */
};

/* For each file: reads it, looks at its devices (those that the filter wants), reports. Several
 * files print one after the other, and as JSON one line each; the first bad exit code is returned
 * after all were tried. */
int mt_analysis_run(struct mt_cli *cli, const struct mt_common *common,
                    const struct mt_filter *filter, const struct mt_analysis_verb *verb, void *ctx,
                    char **files, size_t n_files);

/* The rules for categories: the shipped ones, and in front of them those of `file` (NULL: of
 * MEMTOOL_RULES, where that is set). 0, or the exit code after saying what is wrong. Caller frees
 * with mt_rules_free. */
int mt_cli_rules(struct mt_cli *cli, const char *file, struct mt_rules **out);

#endif
