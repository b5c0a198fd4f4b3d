/* SPDX-License-Identifier: MIT */
/* Memory by call stack, as profilers see it: what was handed out in all, and what is alive at a
 * moment. The exports to other tools are made of it. */
#ifndef MEMTOOL_HEAP_STACKS_PROFILE_H
#define MEMTOOL_HEAP_STACKS_PROFILE_H

#include "heap/stacks/filter.h"
#include "heap/walk/moment.h"
#include "heap/walk/replay.h"
#include "support/error.h"
#include "support/vec.h"

struct mt_profile_row {
    uint32_t stack;                    /* 0: none was recorded */
    uint64_t live_bytes, live_count;   /* at the moment, requested bytes */
    uint64_t alloc_bytes, alloc_count; /* handed out by the trace */
};

struct mt_profile {
    MT_VEC(struct mt_profile_row)
    rows; /* most live bytes first, then most handed out, then by id */
    uint64_t live_bytes, live_count, alloc_bytes, alloc_count; /* sums of the rows */
    size_t events_done;
};

/*
 * Rows of one device (r's). `f` (NULL: all) chooses allocations by their `alloc` event; memory
 * older than the trace by its block. Linear in events and stacks. Errors: MT_NOMEM, MT_NOT_FOUND.
 * Release it also after a failure.
 */
enum mt_status mt_profile_find(struct mt_profile *p, const struct mt_replay *r,
                               struct mt_filtered *f, const struct mt_moment *at,
                               struct mt_error *err) MT_NODISCARD;
void mt_profile_release(struct mt_profile *p);

#endif
