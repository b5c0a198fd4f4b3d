/* SPDX-License-Identifier: MIT */
/*
 * States found by undoing. The main test plays a small allocator forwards, keeps every state on the
 * way, and compares each with the one that is found from the end.
 */
#include "heap/walk/state.h"

#include <string.h>

#include "made_trace.h"
#include "unit.h"

/* ---- a toy allocator: slots of one segment each or runs of an expandable one ---- */

#define SLOTS 12
#define STEPS 400
#define SLOT_BYTES (4 * MADE_MIB)

enum slot_state { GONE, EMPTY, USED, PENDING };

struct world {
    enum slot_state slot[SLOTS];
    uint64_t requested[SLOTS];
    uint32_t stack[SLOTS];
};

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16 & 0x7fff;
}

/* One step: whatever the slot's state allows. */
static void play(struct world *w, struct made *m, bool expandable, unsigned *seed,
                 const uint32_t *stacks)
{
    unsigned i = next_random(seed) % SLOTS, dice = next_random(seed) % 4;
    uint64_t addr = i * SLOT_BYTES, size = 2 * MADE_MIB + next_random(seed) * 7u + 1;
    switch (w->slot[i]) {
    case GONE:
        w->slot[i] = EMPTY;
        made_event(m, expandable ? MT_ACTION_SEGMENT_MAP : MT_ACTION_SEGMENT_ALLOC, addr,
                   SLOT_BYTES, 0);
        break;
    case EMPTY:
        if (dice == 0) {
            w->slot[i] = GONE;
            made_event(m, expandable ? MT_ACTION_SEGMENT_UNMAP : MT_ACTION_SEGMENT_FREE, addr,
                       SLOT_BYTES, 0);
        } else {
            w->slot[i] = USED;
            w->requested[i] = size;
            w->stack[i] = stacks[dice % 2];
            made_event(m, MT_ACTION_ALLOC, addr, size, w->stack[i]);
        }
        break;
    case USED:
        w->slot[i] = PENDING;
        made_event(m, MT_ACTION_FREE_REQUESTED, addr, w->requested[i], stacks[2]);
        break;
    case PENDING:
        w->slot[i] = EMPTY;
        made_event(m, MT_ACTION_FREE_COMPLETED, addr, w->requested[i], stacks[2]);
        break;
    }
}

static void add_final(const struct world *w, struct made *m, bool expandable)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        uint64_t size = (w->requested[i] + 511) / 512 * 512;
        struct made_block used[2] = {{size, w->requested[i],
                                      w->slot[i] == USED ? MT_BLOCK_ALLOCATED : MT_BLOCK_PENDING,
                                      w->stack[i]},
                                     {SLOT_BYTES - size, 0, MT_BLOCK_INACTIVE, 0}};
        struct made_block empty = {SLOT_BYTES, 0, MT_BLOCK_INACTIVE, 0};
        if (w->slot[i] == EMPTY) {
            made_segment(m, i * SLOT_BYTES, expandable, &empty, 1);
        } else if (w->slot[i] != GONE) {
            made_segment(m, i * SLOT_BYTES, expandable, used, 2);
        }
    }
}

static const struct mt_block *block_at(const struct mt_state *st, uint64_t addr)
{
    for (size_t i = 0; i < st->n_blocks; i++) {
        if (st->blocks[i].addr == MADE_BASE + addr) {
            return &st->blocks[i];
        }
    }
    return NULL;
}

static void compare(const struct world *w, const struct mt_state *st)
{
    struct mt_state_sum sum = {0};
    uint64_t reserved = 0, requested = 0, empty = 0;
    for (size_t i = 0; i < st->n_segments; i++) {
        size_t blocks = sum.blocks;
        mt_state_add_segment(st, i, &sum);
        empty += sum.blocks == blocks ? st->segments[i].total_size : 0;
        uint64_t tiled = 0;
        for (size_t k = 0; k < st->segments[i].n_blocks; k++) {
            tiled += st->blocks[st->segments[i].first_block + k].size;
        }
        ck_assert_uint_eq(tiled, st->segments[i].total_size);
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        const struct mt_block *b = block_at(st, i * SLOT_BYTES);
        bool live = w->slot[i] == USED || w->slot[i] == PENDING;
        reserved += w->slot[i] == GONE ? 0 : SLOT_BYTES;
        requested += live ? w->requested[i] : 0;
        if (live) {
            ck_assert_ptr_nonnull(b);
            ck_assert_int_eq(b->state, w->slot[i] == USED ? MT_BLOCK_ALLOCATED : MT_BLOCK_PENDING);
            ck_assert_uint_eq(b->requested, w->requested[i]);
            ck_assert_uint_eq(b->stack, w->stack[i]);
        } else if (b) {
            ck_assert_int_eq(b->state, MT_BLOCK_INACTIVE);
        }
    }
    ck_assert_uint_eq(sum.reserved, reserved);
    ck_assert_uint_eq(sum.requested, requested);
    ck_assert_uint_eq(sum.empty, empty);
    ck_assert(sum.empty <= sum.free);
    ck_assert_uint_eq(sum.reserved, sum.allocated + sum.pending + sum.free);
}

static void play_and_undo(bool expandable)
{
    static struct world before[STEPS + 1];
    struct made m;
    struct mt_error err;
    struct mt_state st;
    unsigned seed = expandable ? 5 : 3;
    made_begin(&m);
    uint32_t stacks[3] = {made_stack(&m, "a", 1), made_stack(&m, "b", 2), made_stack(&m, "f", 3)};
    memset(before, 0, sizeof before);
    for (size_t i = 0; i < STEPS; i++) {
        before[i + 1] = before[i];
        play(&before[i + 1], &m, expandable, &seed, stacks);
    }
    add_final(&before[STEPS], &m, expandable);
    made_finish(&m);
    for (size_t i = 0; i <= STEPS; i++) {
        ck_assert_int_eq(mt_state_at(&m.s, 0, i, &st, &err), MT_OK);
        ck_assert_uint_eq(st.unmatched, 0);
        compare(&before[i], &st);
        mt_state_release(&st);
    }
    made_release(&m);
}

START_TEST(every_moment)
{
    play_and_undo(false);
}
END_TEST

START_TEST(every_moment_expandable)
{
    play_and_undo(true);
}
END_TEST

START_TEST(runs_that_touch_are_one)
{
    struct made m;
    struct mt_error err;
    struct mt_state st;
    struct made_block empty = {2 * MADE_MIB, 0, MT_BLOCK_INACTIVE, 0};
    made_begin(&m);
    made_event(&m, MT_ACTION_SEGMENT_MAP, 0, 4 * MADE_MIB, 0);
    made_event(&m, MT_ACTION_SEGMENT_MAP, 4 * MADE_MIB, 4 * MADE_MIB, 0);
    made_event(&m, MT_ACTION_SEGMENT_UNMAP, 2 * MADE_MIB, 4 * MADE_MIB, 0);
    made_segment(&m, 0, true, &empty, 1);
    made_segment(&m, 6 * MADE_MIB, true, &empty, 1);
    made_finish(&m);
    ck_assert_int_eq(mt_state_at(&m.s, 0, 2, &st, &err), MT_OK);
    ck_assert_uint_eq(st.n_segments, 1);
    ck_assert_uint_eq(st.segments[0].total_size, 8 * MADE_MIB);
    mt_state_release(&st);
    ck_assert_int_eq(mt_state_at(&m.s, 0, 1, &st, &err), MT_OK);
    ck_assert_uint_eq(st.n_segments, 1);
    ck_assert_uint_eq(st.segments[0].total_size, 4 * MADE_MIB);
    mt_state_release(&st);
    ck_assert_int_eq(mt_state_at(&m.s, 0, SIZE_MAX, &st, &err), MT_OK);
    ck_assert_uint_eq(st.n_segments, 2);
    ck_assert_uint_eq(st.events_done, 3);
    mt_state_release(&st);
    made_release(&m);
}
END_TEST

/* A remainder of up to 1 MiB of a large segment was part of the block, and nothing else. */
START_TEST(rest_too_small_to_split)
{
    struct made m;
    struct mt_error err;
    struct mt_state st;
    struct made_block empty = {20 * MADE_MIB, 0, MT_BLOCK_INACTIVE, 0};
    made_begin(&m);
    made_event(&m, MT_ACTION_ALLOC, 0, 19 * MADE_MIB + 1, 0);
    made_event(&m, MT_ACTION_FREE_REQUESTED, 0, 19 * MADE_MIB + 1, 0);
    made_event(&m, MT_ACTION_FREE_COMPLETED, 0, 19 * MADE_MIB + 1, 0);
    made_event(&m, MT_ACTION_ALLOC, 0, 18 * MADE_MIB, 0);
    made_event(&m, MT_ACTION_FREE_REQUESTED, 0, 18 * MADE_MIB, 0);
    made_event(&m, MT_ACTION_FREE_COMPLETED, 0, 18 * MADE_MIB, 0);
    made_segment(&m, 0, false, &empty, 1);
    made_finish(&m);
    ck_assert_int_eq(mt_state_at(&m.s, 0, 1, &st, &err), MT_OK);
    ck_assert_uint_eq(st.n_blocks, 1);
    ck_assert_uint_eq(st.blocks[0].size, 20 * MADE_MIB);
    ck_assert_uint_eq(st.alloc_event[0], 0);
    mt_state_release(&st);
    ck_assert_int_eq(mt_state_at(&m.s, 0, 4, &st, &err), MT_OK);
    ck_assert_uint_eq(st.n_blocks, 2);
    ck_assert_uint_eq(st.blocks[0].size, 18 * MADE_MIB);
    ck_assert_int_eq(st.blocks[0].state, MT_BLOCK_ALLOCATED);
    ck_assert_uint_eq(st.alloc_event[0], 3);
    mt_state_release(&st);
    made_release(&m);
}
END_TEST

/* What was too small to be split off stays the block's, also when what follows it is freed. */
START_TEST(size_is_kept)
{
    struct made m;
    struct mt_error err;
    struct mt_state st;
    struct made_block empty = {20 * MADE_MIB, 0, MT_BLOCK_INACTIVE, 0};
    const uint64_t first = 10 * MADE_MIB, less = first - MADE_MIB / 2;
    made_begin(&m);
    made_event(&m, MT_ACTION_ALLOC, 0, first, 0);
    made_event(&m, MT_ACTION_ALLOC, first, first, 0);
    made_event(&m, MT_ACTION_FREE_COMPLETED, 0, first, 0);
    made_event(&m, MT_ACTION_ALLOC, 0, less, 0); /* all of the 10 MiB */
    made_event(&m, MT_ACTION_FREE_COMPLETED, first, first, 0);
    made_event(&m, MT_ACTION_FREE_COMPLETED, 0, less, 0);
    made_segment(&m, 0, false, &empty, 1);
    made_finish(&m);
    ck_assert_int_eq(mt_state_at(&m.s, 0, 5, &st, &err), MT_OK);
    ck_assert_uint_eq(st.n_blocks, 2);
    ck_assert_uint_eq(st.blocks[0].size, first);
    mt_state_release(&st);
    made_release(&m);
}
END_TEST

/* Events that fit nothing are counted; what fits is shown. */
START_TEST(inconsistent)
{
    struct made m;
    struct mt_error err;
    struct mt_state st;
    struct made_block blocks[2] = {{1024, 1000, MT_BLOCK_ALLOCATED, 0},
                                   {2 * MADE_MIB - 1024, 0, MT_BLOCK_INACTIVE, 0}};
    made_begin(&m);
    made_event(&m, MT_ACTION_ALLOC, 4096, 10, 0);
    made_event(&m, MT_ACTION_FREE_COMPLETED, 0, 10, 0);
    made_event(&m, MT_ACTION_FREE_REQUESTED, 512 * MADE_MIB, 10, 0);
    made_event(&m, MT_ACTION_SEGMENT_FREE, 0, UINT64_MAX, 0);
    made_segment(&m, 0, false, blocks, 2);
    made_finish(&m);
    ck_assert_int_eq(mt_state_at(&m.s, 0, 0, &st, &err), MT_OK);
    ck_assert_uint_eq(st.unmatched, 4);
    ck_assert_uint_eq(st.n_blocks, 2);
    ck_assert_uint_eq(st.blocks[0].requested, 1000);
    mt_state_release(&st);
    ck_assert_int_eq(mt_state_at(&m.s, 7, SIZE_MAX, &st, &err), MT_OK);
    ck_assert_uint_eq(st.n_segments, 0);
    mt_state_release(&st);
    made_release(&m);
}
END_TEST

UNIT_MAIN("state", every_moment, every_moment_expandable, runs_that_touch_are_one,
          rest_too_small_to_split, size_is_kept, inconsistent)
