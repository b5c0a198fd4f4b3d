/* SPDX-License-Identifier: MIT */
/*
 * Several snapshots, or printed figures, of one process in the order of time: one story. What is
 * alive at each, and which stacks hold more at the last than at the first.
 */
#ifndef MEMTOOL_VERBS_LEAKS_SERIES_H
#define MEMTOOL_VERBS_LEAKS_SERIES_H

#include "cli/command.h"
#include "print/report.h"
#include "support/arena.h"
#include "support/vec.h"

struct mt_series_point {
    const char *file;
    int64_t us; /* of its last event, or MT_NO_TIME */
    uint64_t live, reserved;
    bool has_reserved;
};

/* Live memory of one stack, by the words that name it. */
struct mt_series_stack {
    struct mt_str name; /* safe for terminals */
    uint64_t first, last, count;
    size_t since;    /* the file from which on it only grew */
    uint64_t before; /* in the file read last */
};

struct mt_series {
    MT_VEC(struct mt_series_point) points; /* in the order of time, else as given */
    MT_VEC(struct mt_series_stack) stacks; /* most growth first, only what grew */
    struct mt_arena arena;
    int64_t live_per_file, reserved_per_file; /* between the first and the last */
    const char *verdict;                      /* "leak", "no_leak", "unknown" */
};

/* Whether the names differ in one number alone that counts moments: it100, step_20. */
bool mt_series_is(char **files, size_t n);

/* Puts the files of one into the order of those numbers. */
void mt_series_sort(char **files, size_t n);

/* Reads all files of a series and reports. Returns the exit code. */
int mt_series_run(struct mt_cli *cli, const struct mt_common *common, uint64_t threshold,
                  char **files, size_t n);

#endif
