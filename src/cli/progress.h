/* SPDX-License-Identifier: MIT */
/* Private to cli/: the line that shows how far reading has come. */
#ifndef MEMTOOL_CLI_PROGRESS_H
#define MEMTOOL_CLI_PROGRESS_H

#include "cli/command.h"

struct mt_progress {
    struct mt_cli *cli;
    const char *file;
    bool shows; /* err is a terminal and -q was not given */
    bool tells; /* -v: a line with the time at the end */
    bool drawn;
    int64_t begin_us; /* monotonic */
    int64_t drawn_us;
    uint64_t unpacked;
};

void mt_progress_begin(struct mt_progress *p, struct mt_cli *cli, const struct mt_common *common,
                       const char *file);

/* The callback of struct mt_read_options; ctx is the struct mt_progress. */
void mt_progress_step(void *ctx, uint64_t unpacked, uint64_t at, uint64_t file_size);

/* Erases the line. */
void mt_progress_end(struct mt_progress *p);

#endif
