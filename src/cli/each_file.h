/* SPDX-License-Identifier: MIT */
/* The frame of verbs that answer for one file after the other: read, filter, report. */
#ifndef MEMTOOL_CLI_EACH_FILE_H
#define MEMTOOL_CLI_EACH_FILE_H

#include "cli/command.h"

struct mt_logged; /* heap/sums/logged.h */

struct mt_each_file {
    /* Analyses and prints one snapshot. */
    enum mt_status (*report)(const struct mt_report *r, const struct mt_snapshot *s,
                             struct mt_filtered *f, const struct mt_each_file *each,
                             struct mt_error *err);
    /* The same of figures that a program printed; NULL: the verb needs more than those. */
    enum mt_status (*logged)(const struct mt_report *r, const struct mt_logged *l,
                             const struct mt_each_file *each, struct mt_error *err);
    const void *settings; /* of the verb */
    bool verdict;         /* judges what it counts: a filter that hides everything is an error */
    const struct mt_moment *at; /* the file is looked at as it was then; NULL: at the dump */
    bool raw;                   /* prints lines for other programs, or a picture */
    bool several;               /* set by mt_cli_each_file: JSON objects go on one line each */
};

/* Returns the exit code: the highest of all files, so that one bad file does not hide. */
int mt_cli_each_file(struct mt_cli *cli, const struct mt_common *common,
                     const struct mt_filter *filter, char **files, size_t n_files,
                     struct mt_each_file *each);

/* For verbs that show the state at the dump, where filters on events mean nothing: 0, or 2 after
 * saying so. `instead` names the command that has them. */
int mt_cli_no_event_filters(struct mt_cli *cli, const struct mt_filter *filter,
                            const char *instead);
/* The same for --live and --freed. */
int mt_cli_no_fate_filters(struct mt_cli *cli, const struct mt_filter *filter, const char *instead);

/* --at of such verbs; the field is a struct mt_moment, whose default is the end. */
#define MT_OPT_AT(at)                                                                              \
    MT_OPT_CUSTOM(0, "at", at, "WHEN", mt_at_parse,                                                \
                  "the moment: end (default), peak, oom, start, step:N or annotation:NAME (their " \
                  "highest point), an event's number or a time",                                   \
                  .common = true)

/* The settings of a verb that has filters and no other options, or their beginning. */
struct mt_filter_settings {
    struct mt_common common;
    struct mt_filter filter;
};

#endif
