/* SPDX-License-Identifier: MIT */
/* Folded lines, sums per stack, the tree of a flame graph. */
#include "heap/stacks/fold.h"
#include "print/folded.h"

#include "make.h"
#include "print.h"
#include "unit.h"

static struct make m;
static struct mt_error err;
static uint32_t forward, step;

static void program(void)
{
    static const struct make_frame deep[] = {{"/home/u/train.py", 90, "main"},
                                             {"/home/u/net.py", 12, "forward"},
                                             {"Python/ceval.c", 3, "_PyEval_EvalFrameDefault"}};
    make_begin(&m);
    forward = make_stack_of(&m, deep, MT_COUNT(deep));
    step = make_stack(&m, "opt.py", 7, "step");
    make_segment(&m, 4096, 0);
    make_block(&m, 1024, MT_BLOCK_ALLOCATED, 1000, forward);
    make_block(&m, 512, MT_BLOCK_INACTIVE, 600, 0);
    make_block(&m, 512, MT_BLOCK_PENDING, 512, forward);
    make_segment(&m, 8192, 0x55);
    make_block(&m, 2048, MT_BLOCK_ALLOCATED, 2048, step);
    make_block(&m, 512, MT_BLOCK_ALLOCATED, 1, 0);
    make_end(&m);
}

START_TEST(lines)
{
    program();
    struct print p;
    print_begin(&p);
    ck_assert_int_eq(mt_report_folded(&p.r, &m.s, &m.all, true, &err), MT_OK);
    print_end(&p);
    ck_assert_str_eq(
        p.text, "stream_0;seg_4096;active_allocated;train.py:90:main;net.py:12:forward 1000\n"
                "stream_0;seg_4096;active_allocated;<gaps> 24\n"
                "stream_0;seg_4096;inactive;<non-python> 600\n"
                "stream_0;seg_4096;inactive;<gaps> -88\n"
                "stream_0;seg_4096;active_pending_free;train.py:90:main;net.py:12:forward 512\n"
                "stream_85;seg_8192;active_allocated;opt.py:7:step 2048\n"
                "stream_85;seg_8192;active_allocated;<non-python> 1\n"
                "stream_85;seg_8192;active_allocated;<gaps> 511\n");
    print_free(&p);
    uint32_t second = 1;
    print_begin(&p);
    ck_assert_int_eq(mt_report_folded_some(&p.r, &m.s, &second, 1, "only_after;", &err), MT_OK);
    print_end(&p);
    ck_assert_str_eq(p.text, "only_after;stream_85;seg_8192;active_allocated;opt.py:7:step 2048\n"
                             "only_after;stream_85;seg_8192;active_allocated;<non-python> 1\n"
                             "only_after;stream_85;seg_8192;active_allocated;<gaps> 511\n");
    print_free(&p);
    make_free(&m);
}
END_TEST

START_TEST(history)
{
    make_begin(&m);
    uint32_t stack = make_stack(&m, "a.py", 1, "f");
    struct mt_history known = {4096, 700, stack, 0, (1u << MT_HISTORY_KEY_COUNT) - 1};
    struct mt_history bare = {4096, 100, 0, 0, 1u << MT_HISTORY_KEY_addr};
    ck_assert(mt_builder_history(m.b, &known) && mt_builder_history(m.b, &bare));
    make_segment(&m, 4096, 0);
    struct mt_block b = {.addr = 4096,
                         .size = 1024,
                         .state = MT_BLOCK_ALLOCATED,
                         .history_n = 2,
                         .present = 1u << MT_BLOCK_KEY_history};
    ck_assert(mt_builder_block(m.b, &b));
    m.segment.total_size = 1024;
    make_end(&m);
    struct print p;
    print_begin(&p);
    ck_assert_int_eq(mt_report_folded(&p.r, &m.s, NULL, false, &err), MT_OK);
    print_end(&p);
    ck_assert_str_eq(p.text, "stream_0;active_allocated;a.py:1:f 700\n"
                             "stream_0;active_allocated;<no-context> 100\n"
                             "stream_0;active_allocated;<gaps> 224\n");
    print_free(&p);
    make_free(&m);
}
END_TEST

START_TEST(sums)
{
    program();
    struct mt_stack_sums t;
    ck_assert_int_eq(mt_stack_sums_find(&t, &m.s, NULL, 0, &err), MT_OK);
    ck_assert_uint_eq(t.rows.n, 3);
    ck_assert_uint_eq(t.rows.cap, 3); /* not all stacks of the file, for each device of many */
    ck_assert_uint_eq(t.rows.v[0].stack, step);
    ck_assert_uint_eq(t.rows.v[1].stack, forward);
    ck_assert_uint_eq(t.rows.v[1].bytes, 1536);
    ck_assert_uint_eq(t.rows.v[1].pending, 512);
    ck_assert_uint_eq(t.rows.v[1].largest, 1024);
    ck_assert_uint_eq(t.rows.v[2].stack, 0);
    ck_assert_uint_eq(t.bytes, 4096);
    ck_assert_uint_eq(t.requested, 3561);
    ck_assert_uint_eq(t.count, 4);
    mt_stack_sums_sort(&t, MT_STACKS_BY_COUNT, false);
    ck_assert_uint_eq(t.rows.v[0].stack, forward);
    mt_stack_sums_sort(&t, MT_STACKS_BY_LARGEST, true);
    ck_assert_uint_eq(t.rows.v[0].stack, 0);
    mt_stack_sums_release(&t);
    ck_assert_int_eq(mt_stack_sums_find(&t, &m.s, NULL, 7, &err), MT_OK);
    ck_assert_uint_eq(t.rows.n, 0);
    mt_stack_sums_release(&t);
    make_free(&m);
}
END_TEST

static const struct mt_flame_node *child(const struct mt_flame *t, const struct mt_flame_node *of,
                                         const char *label)
{
    for (uint32_t i = of->first_child; i; i = t->nodes.v[i].next) {
        if (mt_str_equal(t->nodes.v[i].label, mt_str_from(label))) {
            return &t->nodes.v[i];
        }
    }
    ck_abort_msg("no child %s", label);
    return of;
}

START_TEST(flame)
{
    program();
    struct mt_flame t;
    ck_assert_int_eq(mt_flame_build(&t, &m.s, NULL, MT_FLAME_SEGMENTS, &err), MT_OK);
    const struct mt_flame_node *root = &t.nodes.v[0];
    ck_assert_uint_eq(root->bytes, 4608);
    ck_assert_uint_eq(root->count, 5);
    const struct mt_flame_node *stream = child(&t, root, "stream_0");
    ck_assert_uint_eq(stream->bytes, 2048);
    ck_assert_ptr_eq(&t.nodes.v[root->first_child], stream); /* "0" sorts before "85" */
    const struct mt_flame_node *state =
        child(&t, child(&t, stream, "seg_0x1000"), "active_allocated");
    const struct mt_flame_node *frame =
        child(&t, child(&t, state, "train.py:90:main"), "net.py:12:forward");
    ck_assert_uint_eq(frame->bytes, 1024);
    ck_assert_uint_eq(frame->first_child, 0); /* the interpreter's frame is left out */
    ck_assert_uint_eq(t.depth, 5);
    mt_flame_release(&t);
    make_free(&m);
}
END_TEST

UNIT_MAIN("fold", lines, history, sums, flame)
