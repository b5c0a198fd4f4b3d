/* SPDX-License-Identifier: MIT */
/*
 * The trace as a list of changes: which stack's bytes went up or down. One walk serves allocations
 * and segments, so that whatever draws or counts need not tell them apart.
 */
#ifndef MEMTOOL_HEAP_WALK_TIMELINE_WALK_H
#define MEMTOOL_HEAP_WALK_TIMELINE_WALK_H

#include "heap/walk/timeline.h"

/* One stack's bytes went up (count 1) or down (-1), or changed without a new piece (0). */
struct mt_change {
    uint32_t slot; /* stack id, or walk->older */
    int count;
    int64_t delta;
};

/* A reserved range, by address. */
struct mt_walk_run {
    uint64_t addr, end;
    uint32_t slot;
};

struct mt_walk {
    const struct mt_replay *r;
    const struct mt_timeline_options *o;
    uint32_t older;    /* slot of what is older than the trace; slots are 0 .. older */
    bool ghost_stacks; /* old memory counts for the stacks of its blocks where they are known */
    struct mt_step at;
    uint64_t total;
    MT_VEC(struct mt_change) changes; /* of the last step */
    MT_VEC(struct mt_walk_run) runs;  /* SEGMENTS: reserved since the trace began */
    bool failed;                      /* out of memory */
};

/* Before the first event; `changes` then holds what was alive. Release it even when it failed. */
void mt_walk_begin(struct mt_walk *w, const struct mt_replay *r,
                   const struct mt_timeline_options *o, bool ghost_stacks);
/* False after the last event and when w->failed. */
bool mt_walk_next(struct mt_walk *w);
void mt_walk_release(struct mt_walk *w);

#endif
