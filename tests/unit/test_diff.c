/* SPDX-License-Identifier: MIT */
/* Two snapshots side by side. */
#include "verbs/compare/diff.h"

#include "make.h"
#include "unit.h"

static struct make a, b;
static struct mt_diff d;
static struct mt_error err;

static struct mt_compare_side sides[2];

static void compare(void)
{
    static const struct mt_compare_options end = {.at = {.kind = MT_AT_END},
                                                  .device = MT_ALL_DEVICES};
    make_end(&a);
    make_end(&b);
    sides[0] = (struct mt_compare_side){.s = &a.s};
    sides[1] = (struct mt_compare_side){.s = &b.s};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(mt_compare_side_find(&sides[i], NULL, &end, NULL, &err), MT_OK);
    }
    ck_assert_int_eq(mt_diff_find(&d, &sides[0], &sides[1], &err), MT_OK);
    ck_assert_uint_eq(d.before, sides[0].live);
    ck_assert_uint_eq(d.after, sides[1].live);
}

static void begin(void)
{
    make_begin(&a);
    make_begin(&b);
    make_segment(&a, 1 << 20, 0);
    make_segment(&b, 2 << 20, 0); /* addresses play no part */
}

static void done(void)
{
    mt_diff_release(&d);
    mt_compare_side_release(&sides[0]);
    mt_compare_side_release(&sides[1]);
    make_free(&a);
    make_free(&b);
}

START_TEST(new_gone_changed_same)
{
    begin();
    (void)make_stack(&b, "other.py", 1, "shifts_the_ids");
    make_block(&a, 512, MT_BLOCK_ALLOCATED, 512, make_stack(&a, "same.py", 1, "f"));
    make_block(&b, 512, MT_BLOCK_ALLOCATED, 512, make_stack(&b, "same.py", 1, "f"));
    make_block(&a, 1024, MT_BLOCK_ALLOCATED, 1024, make_stack(&a, "less.py", 1, "f"));
    make_block(&b, 512, MT_BLOCK_ALLOCATED, 512, make_stack(&b, "less.py", 1, "f"));
    make_block(&a, 2048, MT_BLOCK_PENDING, 2048, make_stack(&a, "gone.py", 1, "f"));
    make_block(&b, 4096, MT_BLOCK_ALLOCATED, 4096, make_stack(&b, "new.py", 1, "f"));
    make_block(&b, 4096, MT_BLOCK_INACTIVE, 4096, make_stack(&b, "free.py", 1, "f"));
    compare();
    ck_assert_uint_eq(d.rows.n, 4);
    ck_assert_int_eq(d.rows.v[0].status, MT_DIFF_NEW);
    ck_assert_int_eq(d.rows.v[1].status, MT_DIFF_GONE);
    ck_assert_int_eq(d.rows.v[2].status, MT_DIFF_CHANGED);
    ck_assert_int_eq(d.rows.v[3].status, MT_DIFF_SAME);
    ck_assert_int_eq(mt_diff_delta(d.rows.v[2].before, d.rows.v[2].after), -512);
    ck_assert_uint_eq(d.before, 3584);
    ck_assert_uint_eq(d.after, 5120);
    ck_assert_uint_eq(d.by_status[MT_DIFF_NEW], 1);
    done();
}
END_TEST

START_TEST(moved_lines)
{
    begin();
    make_block(&a, 512, MT_BLOCK_ALLOCATED, 512, make_stack(&a, "net.py", 10, "forward"));
    make_block(&a, 1024, MT_BLOCK_ALLOCATED, 1024, make_stack(&a, "net.py", 20, "forward"));
    make_block(&b, 1536, MT_BLOCK_ALLOCATED, 1536, make_stack(&b, "net.py", 25, "forward"));
    make_block(&b, 512, MT_BLOCK_ALLOCATED, 512, make_stack(&b, "net.py", 15, "forward"));
    make_block(&b, 256, MT_BLOCK_ALLOCATED, 256, make_stack(&b, "net.py", 90, "forward"));
    compare();
    ck_assert_uint_eq(d.rows.n, 3);
    ck_assert_uint_eq(d.rows.v[0].before, 1024); /* the second with the second */
    ck_assert_uint_eq(d.rows.v[0].after, 1536);
    ck_assert(d.rows.v[0].match == MT_DIFF_MOVED);
    ck_assert_int_eq(d.rows.v[1].status, MT_DIFF_NEW); /* line 90 has nothing left to go with */
    ck_assert_int_eq(d.rows.v[2].status, MT_DIFF_SAME);
    ck_assert(d.rows.v[2].match == MT_DIFF_MOVED);
    done();
}
END_TEST

/* Where one file has more of them, the nearest go together. */
START_TEST(nearest_lines_go_together)
{
    begin();
    make_block(&a, 512, MT_BLOCK_ALLOCATED, 512, make_stack(&a, "net.py", 10, "forward"));
    make_block(&a, 1024, MT_BLOCK_ALLOCATED, 1024, make_stack(&a, "net.py", 50, "forward"));
    make_block(&b, 1024, MT_BLOCK_ALLOCATED, 1024, make_stack(&b, "net.py", 52, "forward"));
    compare();
    ck_assert_uint_eq(d.rows.n, 2);
    ck_assert_int_eq(d.rows.v[0].status, MT_DIFF_GONE);
    ck_assert_uint_eq(d.rows.v[0].before, 512);
    ck_assert_int_eq(d.rows.v[1].status, MT_DIFF_SAME);
    ck_assert(d.rows.v[1].match == MT_DIFF_MOVED);
    done();
}
END_TEST

/* A stack of the program through a library: alike by the program's own frames and what was called,
 * where one file has one. */
static uint32_t through(struct make *m, const char *library, int32_t own_line)
{
    const struct make_frame frames[] = {{"train.py", own_line, "step"},
                                        {library, 7, "_call_impl"},
                                        {"net.py", 3, "forward"},
                                        {"/x/site-packages/torch/nn/functional.py", 9, "linear"}};
    return make_stack_of(m, frames, MT_COUNT(frames));
}

START_TEST(other_library_frames)
{
    const char *ddp = "/x/site-packages/torch/nn/parallel/distributed.py";
    const char *fsdp = "/x/site-packages/torch/nn/modules/module.py";
    begin();
    make_block(&a, 512, MT_BLOCK_ALLOCATED, 512, through(&a, ddp, 1));
    make_block(&b, 1024, MT_BLOCK_ALLOCATED, 1024, through(&b, fsdp, 1));
    make_block(&a, 4096, MT_BLOCK_ALLOCATED, 4096, through(&a, ddp, 2)); /* another line */
    compare();
    ck_assert_uint_eq(d.rows.n, 2);
    ck_assert_int_eq(d.rows.v[0].status, MT_DIFF_GONE);
    ck_assert_int_eq(d.rows.v[1].status, MT_DIFF_CHANGED);
    ck_assert_int_eq(d.rows.v[1].match, MT_DIFF_REROUTED);
    done();
}
END_TEST

/* By a name, which may stand for many stacks, and rows still add up. */
START_TEST(names)
{
    begin();
    make_end(&a);
    make_end(&b);
    struct mt_diff_item before[] = {{MT_STR("net.py"), 0, 100, 2}, {MT_STR("old.py"), 0, 7, 1}};
    struct mt_diff_item after[] = {{MT_STR("new.py"), 0, 50, 1}, {MT_STR("net.py"), 0, 130, 3}};
    struct mt_compare_side x = {.s = &a.s, .items = {.v = before, .n = 2}};
    struct mt_compare_side y = {.s = &b.s, .items = {.v = after, .n = 2}};
    ck_assert_int_eq(mt_diff_find(&d, &x, &y, &err), MT_OK);
    ck_assert_uint_eq(d.rows.n, 3);
    ck_assert(mt_str_equal(d.rows.v[0].name, MT_STR("new.py")));
    ck_assert_int_eq(mt_diff_delta(d.rows.v[1].before, d.rows.v[1].after), 30);
    ck_assert_int_eq(d.rows.v[2].status, MT_DIFF_GONE);
    ck_assert_int_eq(mt_diff_delta(d.before, d.after), 73);
    mt_diff_release(&d);
    make_free(&a);
    make_free(&b);
}
END_TEST

/* An exact match is never given up for one without lines. */
START_TEST(exact_comes_first)
{
    begin();
    make_block(&a, 512, MT_BLOCK_ALLOCATED, 512, make_stack(&a, "net.py", 10, "forward"));
    make_block(&a, 1024, MT_BLOCK_ALLOCATED, 1024, make_stack(&a, "net.py", 20, "forward"));
    make_block(&b, 1024, MT_BLOCK_ALLOCATED, 1024, make_stack(&b, "net.py", 20, "forward"));
    compare();
    ck_assert_uint_eq(d.rows.n, 2);
    ck_assert_int_eq(d.rows.v[0].status, MT_DIFF_GONE);
    ck_assert_int_eq(d.rows.v[1].status, MT_DIFF_SAME);
    ck_assert(d.rows.v[1].match != MT_DIFF_MOVED);
    done();
}
END_TEST

START_TEST(segments)
{
    begin();
    make_block(&a, 512, MT_BLOCK_ALLOCATED, 512, 0);
    make_block(&b, 512, MT_BLOCK_ALLOCATED, 512, 0);
    make_segment(&a, 64 << 20, 0);
    make_block(&a, 512, MT_BLOCK_INACTIVE, 0, 0);
    make_segment(&b, 64 << 20, 0);
    make_block(&b, 512, MT_BLOCK_INACTIVE, 0, 0);
    make_segment(&b, 96 << 20, 0);
    make_block(&b, 512, MT_BLOCK_INACTIVE, 0, 0);
    compare();
    struct mt_segment_diff g;
    ck_assert_int_eq(mt_segment_diff_find(&g, &a.s, &b.s, &err), MT_OK);
    ck_assert_uint_eq(g.only_before.n, 1);
    ck_assert_uint_eq(g.only_before.v[0], 0);
    ck_assert_uint_eq(g.only_after.n, 2);
    ck_assert_uint_eq(g.only_after.v[1], 2);
    mt_segment_diff_release(&g);
    done();
}
END_TEST

UNIT_MAIN("diff", new_gone_changed_same, moved_lines, nearest_lines_go_together,
          other_library_frames, names, exact_comes_first, segments)
