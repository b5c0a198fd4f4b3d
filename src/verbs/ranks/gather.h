/* SPDX-License-Identifier: MIT */
/* From what was named on the command line to the ranks: the files, read by several threads and
 * taken in their order. */
#ifndef MEMTOOL_VERBS_RANKS_GATHER_H
#define MEMTOOL_VERBS_RANKS_GATHER_H

#include "cli/command.h"
#include "verbs/ranks/ranks.h"

struct mt_rank_file {
    char *path;
    bool found; /* in a folder: may be something else, and is passed over then */
};

struct mt_gathering {
    struct mt_cli *cli;
    const struct mt_common *common;
    const struct mt_filter *filter;
    struct mt_rank_read_options options; /* capacity, curves; the rest is filled in */
    MT_VEC(struct mt_rank_file) files;
    struct mt_ranks ranks;
    size_t failed;
    int code;       /* of the first failure */
    bool partly;    /* a damaged file was read as far as it was whole */
    bool no_memory; /* then nothing is printed: which ranks are missing would be chance */
};

/* Adds a file, the files of a folder that may be dumps, or those that a pattern names. False when
 * out of memory. */
bool mt_gather_named(struct mt_gathering *g, const char *path) MT_NODISCARD;

/* A path that is among the files twice; NULL: none, or memory ran out (then g->no_memory). */
const char *mt_gather_twice(struct mt_gathering *g);

/* Reads all files into g->ranks. What cannot be read is said, in the order of the files. */
void mt_gather_read(struct mt_gathering *g);

void mt_gather_release(struct mt_gathering *g);

#endif
