/* SPDX-License-Identifier: MIT */
/* Pools of events: that of the segment which lies there then, not at the end. */
#include "heap/walk/event_pools.h"

#include "made_trace.h"
#include "unit.h"

enum { MIB = (int)MADE_MIB };

static void add_segment(struct made *m, uint64_t addr, uint64_t size, bool expandable,
                        struct mt_pool_id pool)
{
    struct mt_block b = {.addr = MADE_BASE + addr, .size = size, .state = MT_BLOCK_INACTIVE};
    ck_assert(mt_builder_block(m->b, &b));
    struct mt_segment s = {.addr = MADE_BASE + addr,
                           .total_size = size,
                           .first_block = (uint32_t)(mt_builder_n_blocks(m->b) - 1),
                           .n_blocks = 1,
                           .expandable = expandable,
                           .pool = pool,
                           .kind = size <= 2 * MADE_MIB ? MT_POOL_SMALL : MT_POOL_LARGE};
    ck_assert(mt_builder_pool(m->b, (struct mt_pool_id){0, 0}) == 0);
    ck_assert(mt_builder_pool(m->b, pool) != SIZE_MAX);
    ck_assert(mt_builder_segment(m->b, &s, false));
}

static void pools_of(struct made *m, struct mt_event_pools *x)
{
    struct mt_error err;
    made_finish(m);
    ck_assert_int_eq(mt_event_pools_init(x, &m->s, 0, &err), MT_OK);
    ck_assert_uint_eq(x->n, m->s.n_events);
}

/* empty_cache() runs before a capture, and the driver hands the address out again. */
START_TEST(an_address_changes_its_pool)
{
    struct made m;
    struct mt_event_pools x;
    static const int64_t WANTED[] = {0, 0, 0, 0, 1, 1, 1};
    made_begin(&m);
    made_event(&m, MT_ACTION_SEGMENT_ALLOC, 0, 20 * MIB, 0);
    made_event(&m, MT_ACTION_ALLOC, 0, 10 * MIB, 0);
    made_event(&m, MT_ACTION_FREE_COMPLETED, 0, 10 * MIB, 0);
    made_event(&m, MT_ACTION_SEGMENT_FREE, 0, 20 * MIB, 0);
    made_event(&m, MT_ACTION_SEGMENT_ALLOC, 0, 20 * MIB, 0);
    made_event(&m, MT_ACTION_ALLOC, 0, 10 * MIB, 0);
    made_event(&m, MT_ACTION_FREE_COMPLETED, 0, 10 * MIB, 0);
    add_segment(&m, 0, 20 * MIB, false, (struct mt_pool_id){1, 0});
    pools_of(&m, &x);
    for (size_t i = 0; i < x.n; i++) {
        ck_assert_msg(mt_event_pool_id(&x, i).a == WANTED[i], "event %zu", i);
        ck_assert(mt_event_pool_kind(&x, i) == MT_POOL_LARGE);
    }
    mt_event_pools_release(&x);
    made_release(&m);
}
END_TEST

/* Part of an expandable segment goes, and is of the pool that the rest is of. */
START_TEST(unmapped_pages_are_of_their_neighbours_pool)
{
    struct made m;
    struct mt_event_pools x;
    made_begin(&m);
    made_event(&m, MT_ACTION_SEGMENT_MAP, 0, 20 * MIB, 0);
    made_event(&m, MT_ACTION_SEGMENT_MAP, 20 * MIB, 20 * MIB, 0);
    made_event(&m, MT_ACTION_ALLOC, 20 * MIB, 15 * MIB, 0);
    made_event(&m, MT_ACTION_FREE_COMPLETED, 20 * MIB, 15 * MIB, 0);
    made_event(&m, MT_ACTION_SEGMENT_UNMAP, 20 * MIB, 20 * MIB, 0);
    add_segment(&m, 0, 20 * MIB, true, (struct mt_pool_id){0, 1});
    pools_of(&m, &x);
    for (size_t i = 0; i < x.n; i++) {
        ck_assert_msg(mt_event_pool_id(&x, i).b == 1, "event %zu", i);
    }
    mt_event_pools_release(&x);
    made_release(&m);
}
END_TEST

/* Where no segment is known, the default pool, small up to a request of 1 MiB; a refusal too. */
START_TEST(without_a_segment)
{
    struct made m;
    struct mt_event_pools x;
    made_begin(&m);
    made_event(&m, MT_ACTION_ALLOC, 0, MIB, 0);
    made_event(&m, MT_ACTION_ALLOC, 2 * MIB, MIB + 1, 0);
    made_event(&m, MT_ACTION_OOM, 0, 5 * MIB, 0);
    add_segment(&m, 100 * MIB, 20 * MIB, false, (struct mt_pool_id){7, 0});
    pools_of(&m, &x);
    static const enum mt_pool_kind KIND[] = {MT_POOL_SMALL, MT_POOL_LARGE, MT_POOL_LARGE};
    for (size_t i = 0; i < x.n; i++) {
        ck_assert(mt_event_pool_id(&x, i).a == 0 && mt_event_pool_kind(&x, i) == KIND[i]);
    }
    mt_event_pools_release(&x);
    made_release(&m);
}
END_TEST

UNIT_MAIN("event_pools", an_address_changes_its_pool, unmapped_pages_are_of_their_neighbours_pool,
          without_a_segment)
