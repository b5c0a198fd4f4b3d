/* SPDX-License-Identifier: MIT */
/*
 * Training loops made by hand: what grows for ever must be found, what only looks like it must not.
 * Each loop has a forward part of three stacks, a part for the scenario, and frees at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/model/builder.h"
#include "heap/findings/leaks.h"
#include "heap/walk/moment.h"

#include "unit.h"

#define MIB (UINT64_C(1) << 20)

enum { FORWARD, ATTENTION, LOSS, EXTRA, OTHER, N_STACKS };
static const char *const NAMES[N_STACKS] = {"forward", "attention", "loss", "extra", "other"};

struct loop {
    struct mt_builder *b;
    uint32_t stacks[N_STACKS];
    uint64_t next_addr;
    int64_t now_us;
    struct mt_snapshot s;
    struct mt_replay r;
    struct mt_leaks leaks;
};

static void loop_begin(struct loop *l)
{
    *l = (struct loop){.b = mt_builder_new(1), .next_addr = 512};
    for (int i = 0; i < N_STACKS; i++) {
        struct mt_frame f = {.name = mt_builder_cstr(l->b, NAMES[i]),
                             .filename = mt_builder_cstr(l->b, "train.py"),
                             .line = i + 1};
        uint32_t frame = mt_builder_frame(l->b, &f);
        l->stacks[i] = mt_builder_stack(l->b, &frame, 1);
    }
}

static uint64_t take(struct loop *l, int stack, uint64_t size)
{
    struct mt_event e = {.addr = l->next_addr,
                         .size = size,
                         .time_us = l->now_us++,
                         .stack = l->stacks[stack],
                         .action = MT_ACTION_ALLOC};
    ck_assert(mt_builder_event(l->b, &e));
    l->next_addr += 1 << 30;
    return e.addr;
}

static void give(struct loop *l, uint64_t addr, uint64_t size)
{
    struct mt_event e = {
        .addr = addr, .size = size, .time_us = l->now_us++, .action = MT_ACTION_FREE_COMPLETED};
    ck_assert(mt_builder_event(l->b, &e));
}

/* `scale` makes the inputs of this step longer. */
static void work(struct loop *l, uint64_t scale)
{
    uint64_t a = take(l, FORWARD, 4 * MIB * scale);
    uint64_t c = take(l, ATTENTION, 2 * MIB * scale);
    uint64_t d = take(l, LOSS, 4096);
    give(l, c, 2 * MIB * scale);
    give(l, d, 4096);
    give(l, a, 4 * MIB * scale);
}

static void annotate(struct loop *l, const char *name)
{
    struct mt_annotation a = {.name = mt_builder_cstr(l->b, name),
                              .stage = mt_builder_cstr(l->b, "START"),
                              .time_us = l->now_us};
    ck_assert(mt_builder_annotation(l->b, &a));
}

static const struct mt_leaks *loop_judge(struct loop *l, const struct mt_leak_options *o)
{
    struct mt_error err;
    ck_assert(mt_builder_trace(l->b, 0, mt_builder_n_events(l->b), false));
    ck_assert_int_eq(mt_builder_finish(l->b, &l->s, &err), MT_OK);
    ck_assert_int_eq(mt_replay_init(&l->r, &l->s, 0, &err), MT_OK);
    ck_assert_int_eq(mt_leaks_find(&l->leaks, &l->s, &l->r, NULL, o, &err), MT_OK);
    return &l->leaks;
}

static const struct mt_leaks *judge(struct loop *l)
{
    struct mt_leak_options o = {.threshold = MT_LEAK_THRESHOLD};
    return loop_judge(l, &o);
}

static void loop_end(struct loop *l)
{
    mt_leaks_release(&l->leaks);
    mt_replay_release(&l->r);
    mt_snapshot_release(&l->s);
}

START_TEST(one_tensor_kept_a_step)
{
    struct loop l;
    loop_begin(&l);
    for (int step = 0; step < 20; step++) {
        work(&l, 1);
        take(&l, EXTRA, 3 * MIB);
    }
    const struct mt_leaks *k = judge(&l);
    ck_assert_int_eq(k->verdict, MT_LEAK_YES);
    ck_assert_int_eq(k->periods.source, MT_PERIOD_DETECTED);
    ck_assert_uint_eq(mt_periods_count(&k->periods), 19);
    ck_assert_uint_eq(k->stacks.n, 1);
    ck_assert_uint_eq(k->stacks.v[0].stack, l.stacks[EXTRA]);
    ck_assert_int_eq(k->stacks.v[0].bytes_per_step, 3 * (int64_t)MIB);
    ck_assert_int_eq(k->bytes_per_step, 3 * (int64_t)MIB);
    ck_assert(k->fit > 0.999);
    loop_end(&l);
}
END_TEST

START_TEST(leak_under_varying_inputs)
{
    struct loop l;
    loop_begin(&l);
    for (int step = 0; step < 40; step++) {
        work(&l, 1 + (uint64_t)(step * 7 % 5));
        take(&l, EXTRA, MIB * (1 + (uint64_t)(step * 3 % 4)));
    }
    const struct mt_leaks *k = judge(&l);
    ck_assert_int_eq(k->verdict, MT_LEAK_YES);
    ck_assert_uint_eq(k->stacks.v[0].stack, l.stacks[EXTRA]);
    loop_end(&l);
}
END_TEST

/* The last output lives until the next replaces it, and inputs get longer. */
START_TEST(kept_output_of_longer_inputs)
{
    struct loop l;
    loop_begin(&l);
    uint64_t old = 0;
    uint64_t old_size = 0;
    for (uint64_t step = 0; step < 40; step++) {
        uint64_t scale = 1 + step / 5;
        work(&l, scale);
        uint64_t size = 20 * MIB * scale;
        uint64_t fresh = take(&l, EXTRA, size);
        if (old) {
            give(&l, old, old_size);
        }
        old = fresh;
        old_size = size;
    }
    const struct mt_leaks *k = judge(&l);
    ck_assert_int_eq(k->verdict, MT_LEAK_NO);
    ck_assert_uint_eq(k->stacks.n, 0);
    loop_end(&l);
}
END_TEST

/* history = torch.cat([history, x]): one tensor that grows while the work stays the same. */
START_TEST(tensor_that_is_appended_to)
{
    struct loop l;
    loop_begin(&l);
    uint64_t old = 0;
    uint64_t old_size = 0;
    for (uint64_t step = 0; step < 30; step++) {
        work(&l, 1);
        uint64_t size = 2 * MIB * (step + 1);
        uint64_t fresh = take(&l, EXTRA, size);
        if (old) {
            give(&l, old, old_size);
        }
        old = fresh;
        old_size = size;
    }
    const struct mt_leaks *k = judge(&l);
    ck_assert_int_eq(k->verdict, MT_LEAK_YES);
    ck_assert_int_eq(k->bytes_per_step, 2 * (int64_t)MIB);
    loop_end(&l);
}
END_TEST

START_TEST(cache_that_fills_and_stays)
{
    struct loop l;
    loop_begin(&l);
    for (int step = 0; step < 48; step++) {
        work(&l, 1);
        if (step < 24) {
            take(&l, EXTRA, 8 * MIB);
        }
    }
    const struct mt_leaks *k = judge(&l);
    ck_assert_int_eq(k->verdict, MT_LEAK_NO);
    ck_assert_int_eq(k->reason, MT_LEAK_FILLED);
    ck_assert_uint_eq(k->filled_stack, l.stacks[EXTRA]);
    loop_end(&l);
}
END_TEST

/* What one line gives up another takes: it fills, but memory as a whole does not. */
START_TEST(taken_over)
{
    struct loop l;
    uint64_t held[24];
    loop_begin(&l);
    for (size_t i = 0; i < MT_COUNT(held); i++) {
        held[i] = take(&l, OTHER, 8 * MIB);
    }
    for (size_t step = 0; step < 48; step++) {
        annotate(&l, "step");
        work(&l, 1);
        if (step < MT_COUNT(held)) {
            give(&l, held[step], 8 * MIB);
            take(&l, EXTRA, 8 * MIB);
        }
    }
    const struct mt_leaks *k = judge(&l);
    ck_assert_int_eq(k->verdict, MT_LEAK_NO);
    ck_assert_int_eq(k->reason, MT_LEAK_FLAT);
    loop_end(&l);
}
END_TEST

START_TEST(sawtooth)
{
    struct loop l;
    loop_begin(&l);
    uint64_t kept[12];
    for (int step = 0; step < 43; step++) {
        work(&l, 1);
        kept[step % 12] = take(&l, EXTRA, 5 * MIB);
        if (step % 12 == 11) {
            for (int i = 0; i < 12; i++) {
                give(&l, kept[i], 5 * MIB);
            }
        }
    }
    const struct mt_leaks *k = judge(&l);
    ck_assert_int_eq(k->verdict, MT_LEAK_NO);
    loop_end(&l);
}
END_TEST

START_TEST(leak_that_begins_late)
{
    struct loop l;
    loop_begin(&l);
    for (int step = 0; step < 40; step++) {
        work(&l, 1);
        if (step >= 20) {
            take(&l, EXTRA, 4 * MIB);
        }
    }
    const struct mt_leaks *k = judge(&l);
    ck_assert_int_eq(k->verdict, MT_LEAK_YES);
    ck_assert_int_eq(k->bytes_per_step, 4 * (int64_t)MIB);
    loop_end(&l);
}
END_TEST

START_TEST(slow_leak_and_the_line)
{
    struct loop l;
    loop_begin(&l);
    for (int step = 0; step < 30; step++) {
        work(&l, 1);
        take(&l, EXTRA, 200 * 1024);
    }
    const struct mt_leaks *k = judge(&l);
    ck_assert_int_eq(k->verdict, MT_LEAK_NO);
    ck_assert_int_eq(k->reason, MT_LEAK_BELOW_LINE);
    ck_assert_int_eq(k->bytes_per_step, 200 * 1024);
    struct mt_leaks again;
    struct mt_error err;
    struct mt_leak_options o = {.threshold = 100 * 1024, .capacity = 1 << 30};
    ck_assert_int_eq(mt_leaks_find(&again, &l.s, &l.r, NULL, &o, &err), MT_OK);
    ck_assert_int_eq(again.verdict, MT_LEAK_YES);
    ck_assert(again.has_steps_left);
    ck_assert_uint_eq(again.steps_left, ((UINT64_C(1) << 30) - again.last_peak) / (200 * 1024));
    mt_leaks_release(&again);
    loop_end(&l);
}
END_TEST

/* The stack is another one each time: only the sum rises. */
START_TEST(leak_of_many_stacks)
{
    struct loop l;
    loop_begin(&l);
    uint32_t own[40];
    for (int i = 0; i < 40; i++) {
        struct mt_frame f = {.name = mt_builder_cstr(l.b, "visit"),
                             .filename = mt_builder_cstr(l.b, "tree.py"),
                             .line = 100 + i};
        uint32_t frame = mt_builder_frame(l.b, &f);
        own[i] = mt_builder_stack(l.b, &frame, 1);
    }
    for (int step = 0; step < 40; step++) {
        work(&l, 1);
        l.stacks[EXTRA] = own[step];
        take(&l, EXTRA, 2 * MIB);
    }
    const struct mt_leaks *k = judge(&l);
    ck_assert_int_eq(k->verdict, MT_LEAK_YES);
    ck_assert_uint_eq(k->stacks.n, 1);
    ck_assert(k->stacks.v[0].rest);
    loop_end(&l);
}
END_TEST

/* Warm-up: the first step makes the optimizer's state; it is not counted. */
START_TEST(warm_up_is_not_counted)
{
    struct loop l;
    loop_begin(&l);
    for (int step = 0; step < 8; step++) {
        work(&l, 1);
        if (step == 0) {
            take(&l, EXTRA, 512 * MIB);
        }
    }
    const struct mt_leaks *k = judge(&l);
    ck_assert_int_eq(k->verdict, MT_LEAK_NO);
    ck_assert_int_eq(k->reason, MT_LEAK_FLAT);
    ck_assert_uint_eq(k->counted, 6);
    loop_end(&l);
}
END_TEST

START_TEST(too_few_periods)
{
    struct loop l;
    loop_begin(&l);
    for (int step = 0; step < 5; step++) { /* four whole ones */
        work(&l, 1);
        take(&l, EXTRA, 64 * MIB);
    }
    const struct mt_leaks *k = judge(&l);
    ck_assert_int_eq(k->verdict, MT_LEAK_UNKNOWN);
    loop_end(&l);
    loop_begin(&l);
    k = judge(&l);
    ck_assert_int_eq(k->verdict, MT_LEAK_UNKNOWN);
    ck_assert_int_eq(k->reason, MT_LEAK_NO_EVENTS);
    loop_end(&l);
}
END_TEST

START_TEST(annotations_mark_the_steps)
{
    struct loop l;
    loop_begin(&l);
    for (int step = 0; step < 10; step++) {
        char name[32];
        snprintf(name, sizeof name, "## step %d ##", step);
        annotate(&l, name);
        for (int part = 0; part < 4; part++) {
            annotate(&l, "micro");
            work(&l, 1);
        }
        take(&l, EXTRA, 2 * MIB);
    }
    const struct mt_leaks *k = judge(&l);
    ck_assert_int_eq(k->periods.source, MT_PERIOD_ANNOTATIONS);
    ck_assert_uint_eq(mt_periods_count(&k->periods), 8); /* the first begins with the trace */
    ck_assert_int_eq(k->verdict, MT_LEAK_YES);
    ck_assert_int_eq(k->bytes_per_step, 2 * (int64_t)MIB);
    struct mt_leaks other;
    struct mt_error err;
    struct mt_leak_options o = {.threshold = MT_LEAK_THRESHOLD, .period.annotation = "micro"};
    ck_assert_int_eq(mt_leaks_find(&other, &l.s, &l.r, NULL, &o, &err), MT_OK);
    ck_assert_int_eq(other.periods.source, MT_PERIOD_OPTION);
    ck_assert_uint_eq(mt_periods_count(&other.periods), 38);
    mt_leaks_release(&other);
    o.period = (struct mt_period_options){.events = 25};
    ck_assert_int_eq(mt_leaks_find(&other, &l.s, &l.r, NULL, &o, &err), MT_OK);
    ck_assert_uint_eq(mt_periods_count(&other.periods), 10);
    ck_assert_int_eq(other.bytes_per_step, 2 * (int64_t)MIB);
    mt_leaks_release(&other);
    loop_end(&l);
}
END_TEST

/* Four steps, each with a loop of its own inside: the inner loop is not taken for the steps. */
START_TEST(inner_loop_of_few_steps)
{
    struct loop l;
    loop_begin(&l);
    for (int step = 0; step < 4; step++) {
        for (int part = 0; part < 3; part++) {
            work(&l, 1);
        }
        for (int parameter = 0; parameter < 8; parameter++) {
            uint64_t a = take(&l, OTHER, 4096);
            give(&l, a, 4096);
        }
        take(&l, EXTRA, 64 * MIB);
    }
    const struct mt_leaks *k = judge(&l);
    ck_assert_int_eq(k->verdict, MT_LEAK_UNKNOWN);
    ck_assert_int_eq(k->reason, MT_LEAK_TOO_SHORT);
    ck_assert_uint_eq(mt_periods_count(&k->periods), 3);
    loop_end(&l);
}
END_TEST

/* Without frames all memory is one row, and longer inputs are still no leak. */
START_TEST(longer_inputs_without_frames)
{
    struct loop l;
    loop_begin(&l);
    memset(l.stacks, 0, sizeof l.stacks);
    uint64_t old = 0;
    uint64_t old_size = 0;
    for (uint64_t step = 0; step < 40; step++) {
        uint64_t scale = 1 + step / 5;
        work(&l, scale);
        uint64_t fresh = take(&l, EXTRA, 20 * MIB * scale);
        if (old) {
            give(&l, old, old_size);
        }
        old = fresh;
        old_size = 20 * MIB * scale;
    }
    struct mt_leak_options o = {.threshold = MT_LEAK_THRESHOLD, .period.events = 8};
    const struct mt_leaks *k = loop_judge(&l, &o);
    ck_assert_int_eq(k->verdict, MT_LEAK_NO);
    loop_end(&l);
}
END_TEST

/* More periods than points are taken together; the slope stays per step. */
START_TEST(many_periods)
{
    struct loop l;
    loop_begin(&l);
    for (int step = 0; step < 1000; step++) {
        work(&l, 1);
        take(&l, EXTRA, 2 * MIB);
    }
    const struct mt_leaks *k = judge(&l);
    ck_assert_uint_eq(k->stride, 4);
    ck_assert_uint_le(k->live.n, MT_LEAK_POINTS);
    ck_assert_int_eq(k->bytes_per_step, 2 * (int64_t)MIB);
    loop_end(&l);
}
END_TEST

START_TEST(lifetimes)
{
    struct loop l;
    loop_begin(&l);
    for (int step = 0; step < 6; step++) {
        work(&l, 1);
    }
    judge(&l);
    struct mt_lifetimes t;
    struct mt_error err;
    ck_assert_int_eq(mt_lifetimes_find(&t, &l.r, NULL, 2, &err), MT_OK);
    ck_assert_uint_eq(t.temporary_count, 12); /* attention and loss */
    ck_assert_uint_eq(t.temporary.n, 2);
    ck_assert_uint_eq(t.temporary.v[0].stack, l.stacks[ATTENTION]);
    ck_assert_uint_eq(t.temporary.v[0].bytes, 12 * MIB);
    ck_assert_uint_eq(t.allocs, 18);
    ck_assert_uint_eq(t.pending.n, 0);
    mt_lifetimes_release(&t);
    loop_end(&l);
}
END_TEST

START_TEST(moments)
{
    struct loop l;
    loop_begin(&l);
    work(&l, 1);
    work(&l, 3);
    work(&l, 1);
    judge(&l);
    static const struct {
        struct mt_moment m;
        size_t done;
    } CASES[] = {
        {{.kind = MT_AT_PEAK}, 9},  {{.kind = MT_AT_START}, 0},
        {{.kind = MT_AT_END}, 18},  {{.kind = MT_AT_EVENT, .event = 17}, 18},
        {{.kind = MT_AT_EVENT}, 1}, {{.kind = MT_AT_TIME, .time_us = 4}, 5},
    };
    struct mt_error err;
    for (size_t i = 0; i < MT_COUNT(CASES); i++) {
        size_t done = SIZE_MAX;
        ck_assert_int_eq(mt_moment_find(&CASES[i].m, &l.r, &done, &err), MT_OK);
        ck_assert_uint_eq(done, CASES[i].done);
    }
    size_t done;
    static const struct mt_moment NONE[] = {{.kind = MT_AT_EVENT, .event = 18},
                                            {.kind = MT_AT_TIME, .time_us = 3600000000},
                                            {.kind = MT_AT_TIME, .time_us = -1},
                                            {.kind = MT_AT_OOM}};
    for (size_t i = 0; i < MT_COUNT(NONE); i++) {
        ck_assert_int_eq(mt_moment_find(&NONE[i], &l.r, &done, &err), MT_NOT_FOUND);
    }
    loop_end(&l);
}
END_TEST

UNIT_MAIN("leaks", one_tensor_kept_a_step, leak_under_varying_inputs, kept_output_of_longer_inputs,
          tensor_that_is_appended_to, cache_that_fills_and_stays, taken_over, sawtooth,
          leak_that_begins_late, slow_leak_and_the_line, leak_of_many_stacks,
          warm_up_is_not_counted, too_few_periods, annotations_mark_the_steps,
          inner_loop_of_few_steps, longer_inputs_without_frames, many_periods, lifetimes, moments)
