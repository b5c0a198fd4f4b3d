/* SPDX-License-Identifier: MIT */
/* Look-ups, names, rows of segments, the page map. */
#include "heap/stacks/names.h"
#include "verbs/stats/page_map.h"
#include "heap/walk/query.h"
#include "verbs/segments/segment_rows.h"

#include "make.h"
#include "unit.h"

#define MIB (UINT64_C(1) << 20)

static struct make m;
static struct mt_error err;

START_TEST(addresses)
{
    make_begin(&m);
    make_segment(&m, 64 * MIB, 0);
    make_block(&m, 512, MT_BLOCK_ALLOCATED, 512, 0);
    make_block(&m, 1024, MT_BLOCK_INACTIVE, 0, 0);
    make_segment(&m, 2 * MIB, 0); /* not in the order of addresses */
    make_block(&m, 512, MT_BLOCK_ALLOCATED, 512, 0);
    make_segment(&m, 32 * MIB, 0);
    m.segment.device = 3;
    make_block(&m, 512, MT_BLOCK_ALLOCATED, 512, 0);
    make_end(&m);
    struct mt_segment_index x;
    ck_assert_int_eq(mt_segment_index_init(&x, &m.s, 0, &err), MT_OK);
    ck_assert_ptr_eq(mt_segment_index_find(&x, 64 * MIB + 1535), &m.s.segments[0]);
    ck_assert_ptr_eq(mt_segment_index_find(&x, 2 * MIB), &m.s.segments[1]);
    ck_assert_ptr_null(mt_segment_index_find(&x, 2 * MIB - 1));
    ck_assert_ptr_null(mt_segment_index_find(&x, 2 * MIB + 512));
    ck_assert_ptr_null(mt_segment_index_find(&x, 32 * MIB));
    const struct mt_segment *g = &m.s.segments[0];
    ck_assert_ptr_eq(mt_segment_block_find(&m.s, g, 64 * MIB + 512), &m.s.blocks[1]);
    ck_assert_ptr_null(mt_segment_block_find(&m.s, g, 64 * MIB - 1));
    mt_segment_index_release(&x);
    struct mt_devices d;
    ck_assert_int_eq(mt_devices_find(&d, &m.s, true, &err), MT_OK);
    ck_assert_uint_eq(d.ids.n, 2);
    ck_assert_int_eq(d.ids.v[1], 3);
    mt_devices_release(&d);
    make_free(&m);
}
END_TEST

START_TEST(alloc_names)
{
    struct mt_alloc_names n = {0};
    ck_assert_str_eq(mt_alloc_name_text(24).s, "z");
    ck_assert_str_eq(mt_alloc_name_text(25).s, "a1");
    for (uint32_t i = 0; i < 100; i++) {
        ck_assert_int_ne(mt_alloc_name_text(i).s[0], 's'); /* a segment's */
    }
    ck_assert_uint_eq(mt_alloc_names_add(&n, 100), 0);
    ck_assert_uint_eq(mt_alloc_names_add(&n, 200), 1);
    ck_assert_uint_eq(mt_alloc_names_add(&n, 100), 0);
    ck_assert(mt_alloc_names_remove(&n, 100));
    ck_assert_uint_eq(mt_alloc_names_find(&n, 100), MT_NO_NAME);
    ck_assert_uint_eq(mt_alloc_names_add(&n, 300), 0);
    ck_assert_uint_eq(mt_alloc_names_add(&n, 400), 2);
    ck_assert(mt_alloc_names_remove(&n, 999));
    mt_alloc_names_release(&n);
}
END_TEST

START_TEST(segment_names)
{
    struct mt_segment_names n = {0};
    bool failed = false;
    ck_assert_uint_eq(mt_segment_names_add(&n, 1000, 100), 0);
    ck_assert_uint_eq(mt_segment_names_map(&n, 2000, 100), 1);
    ck_assert_uint_eq(mt_segment_names_map(&n, 2100, 100), 1); /* grows */
    ck_assert_uint_eq(mt_segment_names_map(&n, 1100, 100), 2); /* not behind mapped pages */
    ck_assert_uint_eq(mt_segment_names_find(&n, 2199)->name, 1);
    ck_assert_ptr_null(mt_segment_names_find(&n, 2200));
    ck_assert_uint_eq(mt_segment_names_remove(&n, 2050, 100, &failed), 1); /* a hole */
    ck_assert_ptr_null(mt_segment_names_find(&n, 2050));
    ck_assert_uint_eq(mt_segment_names_find(&n, 2049)->addr, 2000);
    ck_assert_uint_eq(mt_segment_names_find(&n, 2150)->addr, 2150);
    ck_assert_uint_eq(mt_segment_names_remove(&n, 1000, 100, &failed), 0);
    ck_assert_uint_eq(mt_segment_names_add(&n, 5000, 1), 0); /* the name is free again */
    ck_assert_uint_eq(mt_segment_names_remove(&n, 9000, 1, &failed), MT_NO_NAME);
    ck_assert(!failed);
    mt_segment_names_release(&n);
}
END_TEST

START_TEST(names_at_the_start)
{
    make_begin(&m);
    make_event(&m, MT_ACTION_SEGMENT_FREE, 100 * MIB, 2 * MIB, 0);
    make_event(&m, MT_ACTION_SEGMENT_ALLOC, 200 * MIB, 2 * MIB, 0);
    make_segment(&m, 200 * MIB, 0);
    make_block(&m, 2 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    make_segment(&m, 150 * MIB, 0);
    make_block(&m, 2 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    make_end(&m);
    struct mt_segment_names n = {0};
    ck_assert(mt_segment_names_start(&n, &m.s, 0));
    ck_assert_uint_eq(n.live.n, 2);
    ck_assert_uint_eq(n.live.v[0].addr, 100 * MIB);
    ck_assert_uint_eq(n.live.v[1].name, 1);
    ck_assert_ptr_null(mt_segment_names_find(&n, 200 * MIB));
    mt_segment_names_release(&n);
    make_free(&m);
}
END_TEST

static void two_segments(void)
{
    make_begin(&m);
    uint32_t big = make_stack(&m, "big.py", 1, "f"), small = make_stack(&m, "small.py", 1, "f");
    make_segment(&m, 4096, 0);
    make_block(&m, 10 * MIB, MT_BLOCK_ALLOCATED, 10 * MIB, small);
    make_block(&m, 15 * MIB, MT_BLOCK_PENDING, 15 * MIB, big);
    make_block(&m, 15 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    make_segment(&m, 1 << 30, 0);
    make_block(&m, 60 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    make_end(&m);
}

START_TEST(rows)
{
    two_segments();
    struct mt_segment_rows t;
    ck_assert_int_eq(mt_segment_rows_find(&t, &m.s, &m.all, MT_SEGMENTS_BY_SIZE, false, &err),
                     MT_OK);
    ck_assert_uint_eq(t.rows.n, 2);
    ck_assert_uint_eq(t.rows.v[0].segment, 1);
    ck_assert_uint_eq(t.rows.v[1].active, 25 * MIB);
    ck_assert_uint_eq(t.rows.v[1].allocated, 10 * MIB);
    ck_assert_uint_eq(t.rows.v[1].top_bytes, 15 * MIB);
    ck_assert_uint_eq(t.sum.free, 75 * MIB);
    ck_assert_uint_eq(t.sum.free_hole, 60 * MIB);
    mt_segment_rows_release(&t);
    ck_assert_int_eq(mt_segment_rows_find(&t, &m.s, &m.all, MT_SEGMENTS_BY_FREE, true, &err),
                     MT_OK);
    ck_assert_uint_eq(t.rows.v[0].segment, 0);
    mt_segment_rows_release(&t);
    make_free(&m);
}
END_TEST

START_TEST(page_map)
{
    char line[8] = {0};
    uint64_t touched[4];
    make_begin(&m);
    make_segment(&m, 4096, 0);
    make_block(&m, 10 * MIB, MT_BLOCK_ALLOCATED, 10 * MIB, 0);
    make_block(&m, 26 * MIB, MT_BLOCK_ALLOCATED, 25 * MIB, 0);
    make_block(&m, 4 * MIB, MT_BLOCK_ALLOCATED, 4 * MIB, 0);
    make_block(&m, 30 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    make_block(&m, 1 * MIB, MT_BLOCK_ALLOCATED, 1, 0);
    make_end(&m);
    ck_assert_uint_eq(mt_page_count(m.s.segments[0].total_size, MT_PAGE_SIZE), 4);
    mt_page_map_fill(&m.s, &m.s.segments[0], MT_PAGE_SIZE, line, touched);
    ck_assert_str_eq(line, "*9 d"); /* 10 + 10; 15 + 4 of 20; free; one byte of the fourth block */
    make_free(&m);
}
END_TEST

UNIT_MAIN("query", addresses, alloc_names, segment_names, names_at_the_start, rows, page_map)
