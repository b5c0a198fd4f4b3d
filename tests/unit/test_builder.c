/* SPDX-License-Identifier: MIT */
/* The builder: interning, rare columns, streams and pools, and what finishing fills in. */
#include "snapshot/model/builder.h"
#include "torch/keys.h"

#include "unit.h"

static struct mt_snapshot finish(struct mt_builder *b)
{
    struct mt_snapshot s;
    struct mt_error err;
    ck_assert_int_eq(mt_builder_finish(b, &s, &err), MT_OK);
    return s;
}

START_TEST(equal_frames_and_stacks_share_an_id)
{
    struct mt_builder *b = mt_builder_new(7);
    uint32_t name = mt_builder_cstr(b, "forward");
    uint32_t file = mt_builder_cstr(b, "train.py");
    ck_assert_uint_eq(mt_builder_str(b, "forward", 7), name);
    struct mt_frame f = {.name = name, .filename = file, .line = 3};
    struct mt_frame g = f;
    g.line = 4;
    uint32_t ids[] = {mt_builder_frame(b, &f), mt_builder_frame(b, &g), mt_builder_frame(b, &f)};
    ck_assert_uint_eq(ids[0], ids[2]);
    ck_assert_uint_ne(ids[0], ids[1]);
    uint32_t two = mt_builder_stack(b, ids, 2);
    ck_assert_uint_eq(mt_builder_stack(b, ids, 2), two);
    uint32_t one = mt_builder_stack(b, ids, 1);
    uint32_t none = mt_builder_stack(b, NULL, 0);
    ck_assert(one != two && none != one && none != 0);
    struct mt_snapshot s = finish(b);
    ck_assert_uint_eq(s.stacks[two].n, 2);
    ck_assert_uint_eq(s.stack_frames[s.stacks[two].first + 1], ids[1]);
    ck_assert_uint_eq(s.stacks[none].n, 0);
    ck_assert_text(mt_snapshot_str(&s, s.frames[ids[0]].filename), "train.py");
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(columns_exist_only_when_needed)
{
    struct mt_builder *b = mt_builder_new(7);
    uint32_t usual = mt_builder_cstr(b, "N/A");
    uint32_t other = mt_builder_cstr(b, "0/1");
    for (size_t i = 0; i < 3; i++) {
        struct mt_event e = {.addr = i};
        ck_assert(mt_builder_event(b, &e));
        ck_assert(mt_builder_event_column(b, i, MT_COLUMN_COMPILE_CONTEXT, i == 1 ? other : usual));
    }
    struct mt_snapshot s = finish(b);
    ck_assert_ptr_null(s.columns[MT_COLUMN_USER_METADATA]);
    ck_assert_ptr_nonnull(s.columns[MT_COLUMN_COMPILE_CONTEXT]);
    for (size_t i = 0; i < 3; i++) {
        uint32_t id = mt_event_column_get(&s, i, MT_COLUMN_COMPILE_CONTEXT);
        ck_assert_text(mt_snapshot_str(&s, id), i == 1 ? "0/1" : "N/A");
        id = mt_event_column_get(&s, i, MT_COLUMN_USER_METADATA);
        ck_assert_text(mt_snapshot_str(&s, id), "");
    }
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(streams_keep_their_sign)
{
    struct mt_builder *b = mt_builder_new(7);
    ck_assert_uint_eq(mt_builder_stream(b, 0, false), 0);
    size_t plain = mt_builder_stream(b, UINT64_MAX, false);
    size_t negative = mt_builder_stream(b, UINT64_MAX, true);
    ck_assert_uint_ne(plain, negative);
    ck_assert_uint_eq(mt_builder_stream(b, UINT64_MAX, true), negative);
    ck_assert_uint_eq(mt_builder_stream(b, UINT64_MAX, false), plain);
    mt_builder_free(b);
}
END_TEST

START_TEST(the_number_of_streams_is_bounded)
{
    struct mt_builder *b = mt_builder_new(7);
    for (uint64_t i = 0; i < UINT16_MAX; i++) {
        ck_assert_uint_eq(mt_builder_stream(b, i * 512, false), i);
    }
    ck_assert_uint_eq(mt_builder_stream(b, 1, false), SIZE_MAX);
    ck_assert_uint_eq(mt_builder_stream(b, 512, false), 1);
    mt_builder_free(b);
}
END_TEST

/* Blocks without address stand where the ones before them end; without a request they asked for
 * their whole size, unless the history tells. */
START_TEST(finishing_fills_what_old_files_leave_out)
{
    struct mt_builder *b = mt_builder_new(7);
    struct mt_history old = {.addr = 0x1000, .real_size = 99, .stack = 0};
    old.present = 1u << MT_HISTORY_KEY_addr | 1u << MT_HISTORY_KEY_real_size;
    ck_assert(mt_builder_history(b, &old));
    const struct mt_block blocks[] = {
        {.size = 512, .state = MT_BLOCK_ALLOCATED, .history_first = 0, .history_n = 1},
        {.size = 1024, .state = MT_BLOCK_ALLOCATED},
        {.size = 512, .state = MT_BLOCK_INACTIVE},
    };
    for (size_t i = 0; i < MT_COUNT(blocks); i++) {
        ck_assert(mt_builder_block(b, &blocks[i]));
    }
    struct mt_segment g = {.addr = 0x1000, .total_size = 2048, .n_blocks = 3};
    ck_assert(mt_builder_segment(b, &g, false));
    struct mt_snapshot s = finish(b);
    ck_assert_uint_eq(s.blocks[0].requested, 99);
    ck_assert_uint_eq(s.blocks[1].addr, 0x1200);
    ck_assert_uint_eq(s.blocks[1].requested, 1024);
    ck_assert_uint_eq(s.blocks[2].addr, 0x1600);
    ck_assert_uint_eq(s.blocks[2].requested, 0);
    mt_snapshot_release(&s);
}
END_TEST

/* Three events in two traces and the host's, a block in two segments and in pinned memory, with one
 * history: 6 + 2 + 2 copies. */
static struct mt_builder *shared(void)
{
    struct mt_builder *b = mt_builder_new(7);
    uint32_t other = mt_builder_cstr(b, "0/1");
    for (size_t i = 0; i < 3; i++) {
        ck_assert(mt_builder_event(b, &(struct mt_event){.addr = i}));
        ck_assert(mt_builder_event_column(b, i, MT_COLUMN_COMPILE_CONTEXT, other));
        ck_assert(mt_builder_trace(b, 0, 3, i == 2));
    }
    ck_assert(mt_builder_history(b, &(struct mt_history){.real_size = 99}));
    ck_assert(mt_builder_block(b, &(struct mt_block){.size = 512, .history_n = 1}));
    for (size_t i = 0; i < 3; i++) {
        struct mt_segment g = {.addr = 4096 * i, .total_size = 512, .n_blocks = 1};
        ck_assert(mt_builder_segment(b, &g, i == 2));
    }
    return b;
}

START_TEST(each_record_has_one_owner)
{
    struct mt_builder *b = shared();
    mt_builder_limit(b, 10, 9);
    struct mt_snapshot s = finish(b);
    ck_assert_ptr_null(mt_snapshot_check(&s));
    ck_assert_uint_eq(s.n_events, 9);
    ck_assert_uint_eq(mt_snapshot_n_traced(&s), 9);
    ck_assert_uint_eq(s.n_blocks, 3);
    ck_assert_uint_eq(s.n_history, 3);
    size_t last = s.host_traces[0].first + 2;
    ck_assert_uint_eq(s.events[last].addr, 2);
    ck_assert_text(mt_snapshot_str(&s, mt_event_column_get(&s, last, MT_COLUMN_COMPILE_CONTEXT)),
                   "0/1");
    ck_assert_uint_eq(s.blocks[s.segments[1].first_block].segment, 1);
    ck_assert_uint_eq(s.blocks[s.segments[1].first_block].addr, 4096);
    mt_snapshot_release(&s);
}
END_TEST

START_TEST(copies_are_bounded)
{
    static const uint64_t limits[][2] = {{9, 9}, {10, 8}};
    for (size_t i = 0; i < MT_COUNT(limits); i++) {
        struct mt_builder *b = shared();
        struct mt_snapshot s;
        struct mt_error err;
        mt_builder_limit(b, limits[i][0], limits[i][1]);
        ck_assert_int_eq(mt_builder_finish(b, &s, &err), MT_LIMIT);
    }
}
END_TEST

START_TEST(the_check_finds_what_is_shared)
{
    struct mt_event events[3] = {{0}};
    struct mt_trace traces[] = {{0, 2}, {1, 2}};
    struct mt_snapshot s = {.events = events, .n_events = 3, .traces = traces, .n_traces = 2};
    ck_assert_ptr_nonnull(mt_snapshot_check(&s));
    traces[0].n = 1;
    ck_assert_ptr_null(mt_snapshot_check(&s));
    traces[1].n = 3;
    ck_assert_ptr_nonnull(mt_snapshot_check(&s));
}
END_TEST

UNIT_MAIN("builder", each_record_has_one_owner, copies_are_bounded, the_check_finds_what_is_shared,
          equal_frames_and_stacks_share_an_id, columns_exist_only_when_needed,
          streams_keep_their_sign, the_number_of_streams_is_bounded,
          finishing_fills_what_old_files_leave_out)
