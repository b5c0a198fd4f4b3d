/* SPDX-License-Identifier: MIT */
/*
 * How large each block of a trace was. An event tells the request only: a block is the request
 * rounded up, or all that was free at its address where the rest was too small to be split off.
 * What was free there is known from a replay that begins with the state before the first event.
 */
#ifndef MEMTOOL_HEAP_WALK_BLOCK_SIZES_H
#define MEMTOOL_HEAP_WALK_BLOCK_SIZES_H

#include "heap/walk/state.h"

struct mt_block_sizes {
    uint64_t
        *of_event; /* one an event of the trace: bytes of the block of an alloc, 0: not known */
    size_t n;
    struct mt_state start; /* before the first event: blocks that are older than the trace */
};

/* O(events). Errors: MT_NOMEM. On MT_OK the caller frees with mt_block_sizes_release. */
enum mt_status mt_block_sizes_find(struct mt_block_sizes *sizes, const struct mt_snapshot *s,
                                   size_t device, struct mt_error *err) MT_NODISCARD;
void mt_block_sizes_release(struct mt_block_sizes *sizes);

/* Bytes of the block at `addr` that is older than the trace; 0: there was none. O(log blocks). */
uint64_t mt_block_sizes_older(const struct mt_block_sizes *sizes, uint64_t addr);

#endif
