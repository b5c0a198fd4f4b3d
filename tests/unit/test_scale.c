/* SPDX-License-Identifier: MIT */
/*
 * Made-up sizes at which a search of everything for everything would take minutes, and so run into
 * Check's limit of time; as it is, each takes less than a second.
 */
#include <string.h>

#include "snapshot/model/builder.h"
#include "heap/stacks/categories.h"
#include "snapshot/model/device_segments.h"
#include "verbs/ranks/ranks.h"
#include "heap/sums/totals.h"

#include "draw/label.h"
#include "verbs/plots/page/page_pieces.h"

#include "make.h"
#include "unit.h"

#define MIB (UINT64_C(1) << 20)
#define BASE UINT64_C(0x7f0000000000)

static struct make m;
static struct mt_error err;

START_TEST(pools_and_streams_of_the_builder)
{
    enum { POOLS = 400000, STREAMS = 60000, ROUNDS = 40 };
    struct mt_builder *b = mt_builder_new(1);
    ck_assert_ptr_nonnull(b);
    for (int round = 0; round < 2; round++) {
        for (int64_t i = 1; i < POOLS; i++) {
            ck_assert_uint_eq(mt_builder_pool(b, (struct mt_pool_id){i % 7, i}), (size_t)i);
        }
    }
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 1; i < STREAMS; i++) {
            ck_assert_uint_eq(mt_builder_stream(b, i / 2, i % 2), i);
        }
    }
    mt_builder_free(b);
}
END_TEST

/* Every segment has a stream and a private pool of its own. */
START_TEST(totals_of_many_streams_and_pools)
{
    enum { N = 65000 };
    struct mt_totals t;
    make_begin(&m);
    for (uint64_t i = 0; i < N; i++) {
        make_segment(&m, BASE + 2 * MIB * i, 512 * i);
        m.segment.pool = (struct mt_pool_id){0, (int64_t)i};
        make_block(&m, 2 * MIB, MT_BLOCK_ALLOCATED, MIB, 0);
    }
    make_end(&m);
    for (int round = 0; round < 30; round++) {
        ck_assert_int_eq(mt_totals_find(&t, &m.s, &m.all, 0, &err), MT_OK);
        ck_assert_uint_eq(t.devices.v[0].streams.n, N);
        ck_assert_uint_eq(t.devices.v[0].private_pools.n, N - 1);
        mt_totals_release(&t);
    }
    make_free(&m);
}
END_TEST

/* Results that list their stacks from the last id to the first, and one a hundred times. */
START_TEST(stacks_of_a_rank)
{
    enum { N = 400000 };
    struct mt_ranks r;
    struct mt_ranks_result x;
    ck_assert_int_eq(mt_ranks_init(&r, 1, &err), MT_OK);
    size_t i = mt_ranks_of_file(&r, MT_STR("rank0.json"));
    for (uint32_t stack = 1; stack <= N; stack++) {
        ck_assert_uint_eq(mt_builder_stack(r.table, &stack, 1), stack);
    }
    for (uint32_t stack = N; stack > 0; stack--) {
        ck_assert(mt_rank_add_stack(&r, i, stack, 1, 1));
    }
    for (int again = 0; again < 100; again++) {
        ck_assert(mt_rank_add_stack(&r, i, 7, 10, 1));
    }
    ck_assert_int_eq(mt_ranks_compare(&r, 0.05, &x, &err), MT_OK);
    ck_assert_uint_eq(r.ranks.v[0].stacks.n, N);
    ck_assert_uint_eq(r.ranks.v[0].stacks.v[6].bytes, 1001);
    ck_assert_uint_eq(r.ranks.v[0].stacks.v[6].count, 101);
    mt_ranks_result_release(&x);
    mt_ranks_release(&r);
}
END_TEST

/* Reserved in one order and given back in another, half of them. */
START_TEST(pieces_of_many_segments)
{
    enum { N = 200000, STEP = 100003 };
    struct mt_page_pieces p = {0};
    make_begin(&m);
    for (uint64_t i = 0; i < N; i++) {
        uint64_t at = i * STEP % N;
        make_event(&m, MT_ACTION_SEGMENT_ALLOC, BASE + 2 * MIB * at, 2 * MIB, 0);
    }
    for (uint64_t i = 0; i < N; i += 2) {
        make_event(&m, MT_ACTION_SEGMENT_FREE, BASE + 2 * MIB * i, 2 * MIB, 0);
    }
    for (uint64_t i = 1; i < N; i += 2) {
        make_segment(&m, BASE + 2 * MIB * i, 0);
        make_block(&m, 2 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    }
    make_end(&m);
    ck_assert_int_eq(mt_page_pieces_find(&p, &m.s, 0, &err), MT_OK);
    ck_assert_uint_eq(p.v.n, N);
    for (size_t i = 0; i < p.v.n; i++) {
        ck_assert_uint_eq(p.v.v[i].size, 2 * MIB);
        ck_assert_uint_eq(p.v.v[i].to == UINT32_MAX, (p.v.v[i].addr - BASE) / (2 * MIB) % 2);
    }
    mt_vec_release(&p.v);
    make_free(&m);
}
END_TEST

/* Each shape of a picture repeats what its stack is called: names of megabytes are cut. */
START_TEST(names_of_megabytes_in_a_picture)
{
    enum { LONG = 10 * 1000 * 1000 };
    static char name[LONG + 1], file[LONG + 4];
    memset(name, 'n', LONG);
    for (size_t i = 0; i < LONG; i += 2) {
        memcpy(file + i, "\xc3\xa9", 2); /* one letter of two bytes */
    }
    memcpy(file + LONG - 1, ".py", 4);
    struct mt_label l;
    struct mt_plot_style style = {0};
    struct mt_buf frames = {0};
    make_begin(&m);
    uint32_t stack = make_stack(&m, file, 12, name);
    make_end(&m);
    mt_label_stack(&l, &style, &m.s, stack);
    mt_label_frames(&frames, &style, &m.s, stack, 10);
    ck_assert(!mt_label_failed(&l) && !frames.failed);
    ck_assert_uint_lt(l.main.n, 2100);
    ck_assert_uint_lt(l.name.n, 2100);
    ck_assert_uint_lt(frames.n, 2100);
    ck_assert(mt_str_ends(mt_buf_view(&frames), MT_STR("n...")));
    ck_assert(mt_str_find(mt_buf_view(&frames), MT_STR("\xc3\xa9...:12 n")) != SIZE_MAX);
    mt_buf_release(&frames);
    mt_label_release(&l);
    make_free(&m);
}
END_TEST

START_TEST(segments_of_many_devices)
{
    enum { N = 400000 };
    make_begin(&m);
    for (uint64_t i = 0; i < N; i++) {
        make_segment(&m, BASE + 2 * MIB * i, 0);
        m.segment.device = (int32_t)(i * 7919 % N);
        make_block(&m, 2 * MIB, MT_BLOCK_ALLOCATED, MIB, 0);
    }
    make_end(&m);
    for (int32_t device = 0; device < N; device++) {
        struct mt_device_segments walk = mt_device_segments(&m.s, device);
        const struct mt_segment *g = mt_device_segments_next(&walk);
        ck_assert(g && g->device == device && !mt_device_segments_next(&walk));
    }
    make_free(&m);
}
END_TEST

static void assert_walk(const struct mt_snapshot *s, int32_t device)
{
    struct mt_device_segments walk = mt_device_segments(s, device);
    for (size_t i = 0; i < s->n_segments; i++) {
        if (s->segments[i].device == device) {
            ck_assert_ptr_eq(mt_device_segments_next(&walk), &s->segments[i]);
        }
    }
    ck_assert_ptr_null(mt_device_segments_next(&walk));
}

/* Few devices, and many, some of which have no segment; then the same in a view with a part. */
START_TEST(walks_meet_each_segment_once)
{
    for (int32_t devices = 1; devices <= 1000; devices *= 10) {
        make_begin(&m);
        for (uint64_t i = 0; i < 3000; i++) {
            make_segment(&m, BASE + 2 * MIB * i, 0);
            m.segment.device = (int32_t)(i * i % 3571) % devices;
            make_block(&m, 2 * MIB, MT_BLOCK_ALLOCATED, MIB, 0);
        }
        make_end(&m);
        ck_assert_int_eq(m.s.segment_next != NULL, devices > 64);
        struct mt_snapshot view = m.s;
        mt_snapshot_set_segments(&view, m.s.segments + 100, 200);
        for (int32_t device = 0; device <= devices; device++) {
            assert_walk(&m.s, device);
            assert_walk(&view, device);
        }
        make_free(&m);
    }
}
END_TEST

/* Each with a stack of its own. */
START_TEST(categories_of_many_devices)
{
    enum { N = 10000 };
    struct mt_rules *rules = NULL;
    make_begin(&m);
    for (int i = 0; i < N; i++) {
        make_event(&m, MT_ACTION_ALLOC, BASE, 512, make_stack(&m, "train.py", i + 1, "step"));
        make_trace(&m);
    }
    make_end(&m);
    ck_assert_int_eq(mt_rules_new(MT_STR(""), &rules, &err), MT_OK);
    for (int32_t device = 0; device < N; device++) {
        struct mt_replay r;
        struct mt_categories c;
        ck_assert_int_eq(mt_replay_init(&r, &m.s, device, &err), MT_OK);
        ck_assert_int_eq(mt_categories_find(&c, rules, &r, &err), MT_OK);
        mt_categories_release(&c);
        mt_replay_release(&r);
    }
    mt_rules_free(rules);
    make_free(&m);
}
END_TEST

UNIT_MAIN("scale", pools_and_streams_of_the_builder, totals_of_many_streams_and_pools,
          stacks_of_a_rank, pieces_of_many_segments, names_of_megabytes_in_a_picture,
          segments_of_many_devices, walks_meet_each_segment_once, categories_of_many_devices)
