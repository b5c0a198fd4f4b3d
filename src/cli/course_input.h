/* SPDX-License-Identifier: MIT */
/* Whether files are moments of one process, and reading them as such. */
#ifndef MEMTOOL_CLI_COURSE_INPUT_H
#define MEMTOOL_CLI_COURSE_INPUT_H

#include "cli/command.h"
#include "heap/sums/course.h"

enum mt_course_told {
    MT_COURSE_TOLD_NO,
    MT_COURSE_TOLD_MOMENT, /* what differs counts moments: it100, step_200/rank0 */
    MT_COURSE_TOLD_PROCESS /* other numbers differ, and the names say the same pid or rank: of one
                              process if their times rise with those numbers */
};

/* By their names alone; puts them into the order of the numbers that differ, unless the answer is
 * NO. */
enum mt_course_told mt_course_names(char **files, size_t n);

struct mt_course_call {
    bool must;                      /* --series: they are, in the order given */
    bool judged;                    /* leaks/1 with a verdict, else summary/1 */
    uint64_t threshold;             /* of leaks */
    const struct mt_filter *filter; /* NULL: none */
};

#define MT_OPT_SERIES(at)                                                                          \
    MT_OPT_FLAG(0, "series", at,                                                                   \
                "the files are moments of one process, in order of time: one answer (told by "     \
                "names such as it100, step_200, and of one pid or rank by numbers and times that " \
                "rise)",                                                                           \
                .common = true)

/* Reads and reports files that are moments of one process: snapshots or printed figures. False:
 * they are not, and nothing was printed. *code: the exit code. */
bool mt_cli_course(struct mt_cli *cli, const struct mt_common *common, char **files, size_t n,
                   const struct mt_course_call *call, int *code);

#endif
