/* SPDX-License-Identifier: MIT */
/* Pairing and walking: whole traces, traces that begin in the middle, ends that were lost. */
#include <stdlib.h>

#include "snapshot/model/builder.h"
#include "torch/keys.h"
#include "heap/walk/replay.h"

#include "unit.h"

#define BASE UINT64_C(0x7f0000000000)

static struct mt_builder *b;
static struct mt_snapshot s;

static void event(enum mt_action action, uint64_t addr, uint64_t size)
{
    struct mt_event e = {BASE + addr, size, MT_NO_TIME, 0, 0, (uint8_t)action, 0};
    ck_assert(mt_builder_event(b, &e));
}

static void begin(void)
{
    b = mt_builder_new(1);
    ck_assert_ptr_nonnull(b);
}

/* One segment of 2 MiB with one block in front. */
static void finish(enum mt_block_state state, uint64_t requested)
{
    struct mt_error err;
    ck_assert(mt_builder_trace(b, 0, mt_builder_n_events(b), false));
    struct mt_block one = {.addr = BASE,
                           .size = 1024,
                           .requested = requested,
                           .state = (uint8_t)state,
                           .present = 1u << MT_BLOCK_KEY_requested_size};
    struct mt_block rest = {.addr = BASE + 1024, .size = (2 << 20) - 1024};
    ck_assert(mt_builder_block(b, &one) && mt_builder_block(b, &rest));
    struct mt_segment segment = {.addr = BASE, .total_size = 2 << 20, .n_blocks = 2};
    ck_assert(mt_builder_segment(b, &segment, false));
    ck_assert_int_eq(mt_builder_finish(b, &s, &err), MT_OK);
}

START_TEST(whole_trace)
{
    begin();
    event(MT_ACTION_SEGMENT_ALLOC, 0, 2 << 20);
    event(MT_ACTION_ALLOC, 0, 1000);
    event(MT_ACTION_ALLOC, 1024, 500);
    event(MT_ACTION_FREE_REQUESTED, 1024, 500);
    event(MT_ACTION_FREE_COMPLETED, 1024, 500);
    finish(MT_BLOCK_ALLOCATED, 1000);
    struct mt_error err;
    struct mt_replay r;
    ck_assert_int_eq(mt_replay_init(&r, &s, 0, &err), MT_OK);
    ck_assert_uint_eq(r.n, 5);
    ck_assert_uint_eq(r.ghosts.n, 0);
    ck_assert_uint_eq(r.start_reserved, 0);
    ck_assert_uint_eq(r.end_reserved, 2 << 20);
    ck_assert_uint_eq(r.end_bytes, 1000);
    ck_assert_uint_eq(r.partner[1], MT_NEVER);
    ck_assert_uint_eq(r.partner[2], 4);
    ck_assert_uint_eq(r.partner[3], 2);
    ck_assert_uint_eq(r.partner[4], 2);
    struct mt_step at;
    uint64_t peak = 0, reserved = 0;
    for (mt_replay_begin(&r, &at); mt_replay_next(&r, &at);) {
        peak = at.live_bytes > peak ? at.live_bytes : peak;
        reserved = at.reserved_bytes;
    }
    ck_assert_uint_eq(peak, 1500);
    ck_assert_uint_eq(reserved, 2 << 20);
    ck_assert_uint_eq(at.index, 4);
    ck_assert_uint_eq(at.live_count, 1);
    mt_replay_release(&r);
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(starts_in_the_middle)
{
    begin();
    event(MT_ACTION_FREE_REQUESTED, 4096, 300);
    event(MT_ACTION_FREE_COMPLETED, 4096, 300);
    event(MT_ACTION_ALLOC, 4096, 200);
    finish(MT_BLOCK_PENDING, 1000);
    struct mt_error err;
    struct mt_replay r;
    ck_assert_int_eq(mt_replay_init(&r, &s, 0, &err), MT_OK);
    ck_assert_uint_eq(r.ghosts.n, 2);
    ck_assert_uint_eq(r.ghosts.v[0].requested, 0);
    ck_assert_uint_eq(r.ghosts.v[0].freed, 1);
    ck_assert_uint_eq(r.ghosts.v[0].block, MT_NEVER);
    ck_assert_uint_eq(r.ghosts.v[1].freed, MT_NEVER);
    ck_assert_uint_eq(r.ghosts.v[1].block, 0);
    ck_assert_uint_eq(r.ghost_bytes, 1300);
    ck_assert_uint_eq(r.start_reserved, 2 << 20);
    struct mt_step at;
    mt_replay_begin(&r, &at);
    ck_assert_uint_eq(at.live_bytes, 1300);
    ck_assert(mt_replay_next(&r, &at) && at.kind == MT_STEP_FREE_REQUESTED);
    ck_assert(mt_replay_next(&r, &at) && at.ghost == 0 && at.live_bytes == 1000);
    ck_assert(mt_replay_next(&r, &at) && at.live_bytes == 1200);
    ck_assert(!mt_replay_next(&r, &at));
    mt_replay_release(&r);
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(lost_end)
{
    begin();
    event(MT_ACTION_ALLOC, 0, 1000);
    event(MT_ACTION_ALLOC, 0, 700);
    finish(MT_BLOCK_ALLOCATED, 700);
    struct mt_error err;
    struct mt_replay r;
    ck_assert_int_eq(mt_replay_init(&r, &s, 0, &err), MT_OK);
    ck_assert_uint_eq(r.partner[0], 1);
    ck_assert_uint_eq(r.overwrites.n, 1);
    struct mt_step at;
    mt_replay_begin(&r, &at);
    ck_assert(mt_replay_next(&r, &at) && at.alloc == MT_NEVER && at.live_bytes == 1000);
    ck_assert(mt_replay_next(&r, &at) && at.alloc == 0 && at.live_bytes == 700);
    ck_assert_uint_eq(at.live_count, 1);
    mt_replay_release(&r);
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(no_trace)
{
    begin();
    finish(MT_BLOCK_ALLOCATED, 1000);
    struct mt_error err;
    struct mt_replay r;
    ck_assert_int_eq(mt_replay_init(&r, &s, 3, &err), MT_OK);
    ck_assert_uint_eq(r.n + r.ghosts.n, 0);
    mt_replay_release(&r);
    ck_assert_int_eq(mt_replay_init(&r, &s, 0, &err), MT_OK);
    ck_assert_uint_eq(r.n, 0);
    ck_assert_uint_eq(r.end_bytes, 1000);
    mt_replay_release(&r);
    mt_snapshot_release(&s);
}
END_TEST

UNIT_MAIN("replay", whole_trace, starts_in_the_middle, lost_end, no_trace)
