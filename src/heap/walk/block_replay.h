/* SPDX-License-Identifier: MIT */
/*
 * A replay of the blocks of a complete trace: sizes, splits and merges, which no event tells.
 */
#ifndef MEMTOOL_HEAP_WALK_BLOCK_REPLAY_H
#define MEMTOOL_HEAP_WALK_BLOCK_REPLAY_H

#include "heap/walk/state.h"
#include "snapshot/model/model.h"
#include "support/error.h"

enum mt_block_change_kind {
    MT_BLOCK_CHANGE_SEGMENT,  /* memory came from the driver */
    MT_BLOCK_CHANGE_RELEASE,  /* and went back */
    MT_BLOCK_CHANGE_HAND_OUT, /* a block was given to the program */
    MT_BLOCK_CHANGE_DROP,     /* the program freed it */
    MT_BLOCK_CHANGE_FREE      /* it is back in the cache, after drop */
};

struct mt_block_change {
    enum mt_block_change_kind kind;
    bool small; /* pool */
    bool expandable;
    size_t event;       /* index in the trace */
    uint64_t size;      /* of the segment or block; FREE: before merging */
    uint64_t requested; /* HAND_OUT, DROP, FREE: what was asked for */
    bool was_split;     /* HAND_OUT: it was a part of a segment before */
    uint64_t rest;      /* HAND_OUT: what was cut off as a block of its own, 0 without a split */
    bool is_split;      /* FREE: after merging it still is a part of a segment */
    uint64_t swallowed; /* FREE: free neighbours merged into it, 0 to 2 */
    uint64_t swallowed_bytes;
};

/*
 * Walks the whole trace of `device` and reports each change. *proved: the replay ended with exactly
 * the blocks that the file has (address, size, free or not), so all that was reported is true;
 * otherwise an event did not fit (settings changed on the way, a trace that begins in the middle, a
 * hand-made file) and nothing of it may be used. Errors: MT_NOMEM. O(events).
 */
enum mt_status mt_block_replay(const struct mt_snapshot *s, int32_t device,
                               void (*change)(void *ctx, const struct mt_block_change *c),
                               void *ctx, bool *proved, struct mt_error *err) MT_NODISCARD;

/*
 * The same for a trace of the device of `start`, which is the state before its first event. Events
 * that do not fit are passed over: what is reported is as good as `start`. Errors: MT_NOMEM.
 */
enum mt_status mt_block_replay_from(const struct mt_snapshot *s, const struct mt_state *start,
                                    void (*change)(void *ctx, const struct mt_block_change *c),
                                    void *ctx, struct mt_error *err) MT_NODISCARD;

#endif
