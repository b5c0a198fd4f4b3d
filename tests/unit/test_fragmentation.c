/* SPDX-License-Identifier: MIT */
/* Each free byte is counted under one cause, and each hole is held by somebody. */
#include "heap/findings/frag.h"

#include "make.h"
#include "unit.h"

#define MIB (UINT64_C(1) << 20)

static struct mt_frag look(const struct make *m)
{
    struct mt_replay r;
    struct mt_error err;
    struct mt_frag f;
    struct mt_moment end = {.kind = MT_AT_END};
    ck_assert_int_eq(mt_replay_init(&r, &m->s, 0, &err), MT_OK);
    ck_assert_int_eq(mt_frag_find(&f, &m->s, &r, NULL, &end, &err), MT_OK);
    mt_replay_release(&r);
    ck_assert_uint_eq(f.holes + f.idle_segments + f.other_stream + f.private_pool + f.pending,
                      f.reserved - f.allocated);
    return f;
}

START_TEST(every_cause)
{
    struct make m;
    make_begin(&m);
    uint32_t a = make_stack(&m, "a.py", 1, "a");
    uint32_t b = make_stack(&m, "b.py", 2, "b");
    make_segment(&m, 0x10000000, 0); /* holes, pinned by a alone */
    make_block(&m, 4 * MIB, MT_BLOCK_ALLOCATED, 3 * MIB, a);
    make_block(&m, 16 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    make_segment(&m, 0x20000000, 0); /* idle */
    make_block(&m, 32 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    make_segment(&m, 0x30000000, 7); /* another stream, pinned by both */
    make_block(&m, MIB, MT_BLOCK_ALLOCATED, MIB, a);
    make_block(&m, 9 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    make_block(&m, 10 * MIB, MT_BLOCK_PENDING, 10 * MIB, b);
    make_segment(&m, 0x40000000, 0); /* a private pool */
    m.segment.pool = (struct mt_pool_id){1, 0};
    make_block(&m, 20 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    make_end(&m);
    struct mt_frag f = look(&m);
    ck_assert_uint_eq(f.reserved, 92 * MIB);
    ck_assert_uint_eq(f.allocated, 5 * MIB);
    ck_assert_uint_eq(f.holes, 16 * MIB);
    ck_assert_uint_eq(f.idle_segments, 32 * MIB);
    ck_assert_uint_eq(f.other_stream, 9 * MIB);
    ck_assert_uint_eq(f.private_pool, 20 * MIB);
    ck_assert_uint_eq(f.pending, 10 * MIB);
    ck_assert_uint_eq(f.rounding, MIB);
    ck_assert_uint_eq(f.largest_hole, 32 * MIB);
    ck_assert_uint_eq(f.empty_cache, 32 * MIB); /* not the private pool */
    ck_assert_uint_eq(f.inactive_split, 25 * MIB);
    ck_assert_int_eq(f.class, MT_FRAG_ACT);
    ck_assert_uint_eq(f.pins.n, 2);
    ck_assert_uint_eq(f.pins.v[0].stack, a);
    ck_assert_uint_eq(f.pins.v[0].free_held, 16 * MIB + 9 * MIB / 2);
    ck_assert_uint_eq(f.pins.v[0].alone, 16 * MIB);
    ck_assert_uint_eq(f.pins.v[0].segments, 2);
    ck_assert_uint_eq(f.pins.v[0].live_bytes, 5 * MIB);
    ck_assert_uint_eq(f.pins.v[1].free_held, 9 * MIB / 2);
    ck_assert_uint_eq(f.pools.n, 3);
    mt_frag_release(&f);
    make_free(&m);
}
END_TEST

/* Whole pages of 20 MiB inside a free block of an expandable segment go back. */
START_TEST(expandable_pages)
{
    struct make m;
    make_begin(&m);
    make_segment(&m, 0x10000000, 0);
    m.segment.expandable = true;
    m.segment.kind = MT_POOL_LARGE;
    make_block(&m, 5 * MIB, MT_BLOCK_ALLOCATED, 5 * MIB, 0);
    make_block(&m, 50 * MIB, MT_BLOCK_INACTIVE, 0, 0); /* 5 to 55: the page from 20 to 40 */
    make_block(&m, 5 * MIB, MT_BLOCK_ALLOCATED, 5 * MIB, 0);
    make_end(&m);
    struct mt_frag f = look(&m);
    ck_assert_uint_eq(f.empty_cache, 20 * MIB);
    ck_assert_uint_eq(f.holes, 50 * MIB);
    ck_assert_uint_eq(f.free_pages, 20 * MIB);
    ck_assert_uint_eq(f.pins.v[0].free_held, 30 * MIB); /* not the page */
    ck_assert_uint_eq(f.inactive_split, 0);
    mt_frag_release(&f);
    make_free(&m);
}
END_TEST

START_TEST(classes)
{
    static const struct {
        uint64_t free;
        enum mt_frag_class want;
    } CASES[] = {{0, MT_FRAG_NORMAL},
                 {19, MT_FRAG_NORMAL},
                 {20, MT_FRAG_WORK_ON_IT},
                 {40, MT_FRAG_WORK_ON_IT},
                 {41, MT_FRAG_ACT}};
    for (size_t i = 0; i < MT_COUNT(CASES); i++) {
        struct make m;
        make_begin(&m);
        make_segment(&m, 0x10000000, 0);
        make_block(&m, (100 - CASES[i].free) * MIB, MT_BLOCK_ALLOCATED, MIB, 0);
        if (CASES[i].free) {
            make_block(&m, CASES[i].free * MIB, MT_BLOCK_INACTIVE, 0, 0);
        }
        make_end(&m);
        struct mt_frag f = look(&m);
        ck_assert_int_eq(f.class, CASES[i].want);
        mt_frag_release(&f);
        make_free(&m);
    }
}
END_TEST

static struct mt_frag_sources sources_of(const struct make *m)
{
    struct mt_replay r;
    struct mt_error err;
    struct mt_frag_sources x;
    ck_assert_int_eq(mt_replay_init(&r, &m->s, 0, &err), MT_OK);
    ck_assert_int_eq(mt_frag_sources_find(&x, &m->s, &r, NULL, &err), MT_OK);
    mt_replay_release(&r);
    return x;
}

static const struct mt_frag_source *source(const struct mt_frag_sources *x,
                                           enum mt_frag_source_kind kind)
{
    for (size_t i = 0; i < x->list.n; i++) {
        if (x->list.v[i].kind == kind) {
            return &x->list.v[i];
        }
    }
    return NULL;
}

START_TEST(sources)
{
    struct make m;
    make_begin(&m);
    uint32_t many = make_stack(&m, "a.py", 1, "many");
    uint32_t over = make_stack(&m, "b.py", 2, "over");
    for (uint64_t i = 0; i < 12; i++) { /* many sizes */
        make_event(&m, MT_ACTION_ALLOC, 0x1000000 + i * 0x10000000, (2 + i) * MIB, many);
    }
    for (int round = 0; round < 3; round++) { /* and all free at once, three times */
        for (uint64_t i = 0; i < 12; i++) {
            make_event(&m, MT_ACTION_FREE_COMPLETED, 0x1000000 + i * 0x10000000, (2 + i) * MIB, 0);
        }
        for (uint64_t i = 0; i < 12; i++) {
            make_event(&m, MT_ACTION_ALLOC, 0x1000000 + i * 0x10000000, (2 + i) * MIB, many);
        }
    }
    for (int i = 0; i < 8; i++) { /* 10 MiB and a byte: lost are nearly 2 MiB each */
        make_event(&m, MT_ACTION_ALLOC, 0xf00000000 + (uint64_t)i * 0x10000000, 10 * MIB + 1, over);
    }
    for (int i = 0; i < 5; i++) { /* empty_cache, and the segment is taken again */
        make_event(&m, MT_ACTION_SEGMENT_FREE, 0x5000000000, 20 * MIB, 0);
        make_event(&m, MT_ACTION_FREE_REQUESTED, 0xf00000000, MIB, 0);
        make_event(&m, MT_ACTION_SEGMENT_ALLOC, 0x5000000000, 20 * MIB, 0);
    }
    for (int i = 0; i < 5; i++) { /* making room for a request is something else */
        make_event(&m, MT_ACTION_SEGMENT_FREE, 0x6000000000, 30 * MIB, 0);
        make_event(&m, MT_ACTION_SEGMENT_ALLOC, 0x6000000000, 30 * MIB, 0);
    }
    make_end(&m);
    struct mt_frag_sources x = sources_of(&m);
    const struct mt_frag_source *s = source(&x, MT_FRAG_SOURCE_MANY_SIZES);
    ck_assert_ptr_nonnull(s);
    ck_assert_uint_eq(s->stack, many);
    ck_assert_uint_eq(s->sizes, 12);
    ck_assert_uint_eq(s->bytes, 13 * MIB);
    s = source(&x, MT_FRAG_SOURCE_OVER_STEP);
    ck_assert_ptr_nonnull(s);
    ck_assert_uint_eq(s->stack, over);
    ck_assert_uint_eq(s->bytes, 8 * (2 * MIB - 1));
    s = source(&x, MT_FRAG_SOURCE_REGAINED);
    ck_assert_ptr_nonnull(s);
    ck_assert_uint_eq(s->count, 5);
    ck_assert_uint_eq(s->bytes, 100 * MIB);
    s = source(&x, MT_FRAG_SOURCE_MIXED_FREES);
    ck_assert_ptr_nonnull(s);
    ck_assert_uint_eq(s->count, 3);
    ck_assert_ptr_null(source(&x, MT_FRAG_SOURCE_SPLITS)); /* nothing proves them here */
    mt_frag_sources_release(&x);
    make_free(&m);
}
END_TEST

UNIT_MAIN("fragmentation", every_cause, expandable_pages, classes, sources)
