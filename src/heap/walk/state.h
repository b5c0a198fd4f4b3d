/* SPDX-License-Identifier: MIT */
/*
 * The allocator's state at any moment of a trace: which segments were reserved, which blocks lived
 * in them, and what was free. In the model's own structs, so that what reads the final segments of
 * a snapshot reads these as well.
 *
 * The file holds the state at its end only. The state before is found by undoing the events from
 * the end: a free puts its block back, an alloc takes it away, and so on for segments. Nothing is
 * replayed through an allocator, so a trace that starts in the middle is no hindrance.
 */
#ifndef MEMTOOL_HEAP_WALK_STATE_H
#define MEMTOOL_HEAP_WALK_STATE_H

#include "snapshot/model/model.h"
#include "support/error.h"

/* In mt_state.alloc_event: the block is older than the trace. */
#define MT_STATE_NO_EVENT SIZE_MAX

struct mt_state {
    size_t device;
    size_t events_done; /* as asked for, at most the length of the trace */

    /* By address. The pool of a segment that was given back before the end is taken from the
     * event's pool column, else the default pool; its kind from what the driver gave for one
     * request, where the trace has that. An expandable segment is one mapped run. */
    struct mt_segment *segments;
    size_t n_segments;

    /* Tile their segments, by address. `size` of a block that was freed before the end is what a
     * replay tells (block_sizes.h); where it does not, the request rounded up to 512 B, and up to
     * the next live block where the space between was too small to be split off. `requested` is 0
     * in free blocks. */
    struct mt_block *blocks;
    size_t n_blocks;
    size_t *alloc_event; /* one a block: index in the trace, or MT_STATE_NO_EVENT; free blocks:
                            MT_STATE_NO_EVENT */

    /* Events that did not fit the final state (a file put together from several, a lost event).
     * Not an error: the pieces that fit are shown. */
    size_t unmatched;
};

/*
 * The state of `device` after the first `events_done` events of its trace (SIZE_MAX: all, which is
 * the end). For "at event k", which includes what k did, pass k + 1. O(events + live log live).
 * A device without a trace has its final segments as its only state. Errors: MT_NOMEM. On MT_OK the
 * caller frees with mt_state_release.
 */
enum mt_status mt_state_at(const struct mt_snapshot *s, size_t device, size_t events_done,
                           struct mt_state *out, struct mt_error *err) MT_NODISCARD;
void mt_state_release(struct mt_state *st);

/* Sums over some blocks, in bytes. */
struct mt_state_sum {
    uint64_t reserved;
    uint64_t allocated; /* sizes of blocks in use, without pending */
    uint64_t pending;
    uint64_t requested; /* of blocks in use or pending */
    uint64_t free;      /* reserved - allocated - pending */
    uint64_t empty;     /* the part of `free` that is whole segments: they can be given back */
    uint64_t largest_hole;
    size_t segments;
    size_t empty_segments;
    size_t blocks; /* in use or pending */
};

/* Adds one segment of st (with its blocks) to *sum. */
void mt_state_add_segment(const struct mt_state *st, size_t segment, struct mt_state_sum *sum);

#endif
