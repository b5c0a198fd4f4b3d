/* SPDX-License-Identifier: MIT */
/* Between the two readers of logged memory: logged_tables.c and logged_stats.c. */
#ifndef MEMTOOL_HEAP_LOGGED_PARTS_H
#define MEMTOOL_HEAP_LOGGED_PARTS_H

#include "heap/sums/logged.h"

/* The rank that a line names before `line` ends: "[rank3]:", "[Rank 3]", "rank=3"; -1: none. */
int32_t mt_logged_rank(struct mt_str line);

/* The device that a line names: "cuda:1", "GPU 1", "device=1"; 0: none. */
uint32_t mt_logged_device(struct mt_str line);

/* The step that a line names: "step 10", "iteration: 10", "after 10 iterations"; -1: none. */
int64_t mt_logged_step(struct mt_str line);

/* Appends every memory_stats() in `log`. False when out of memory. */
bool mt_logged_stats(struct mt_logged *out, struct mt_str log) MT_NODISCARD;

#endif
