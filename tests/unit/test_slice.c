/* SPDX-License-Identifier: MIT */
/* Parts of a snapshot: which events, segments and annotations stay, and the state at a cut end. */
#include <stdlib.h>

#include "verbs/check/budget.h"
#include "snapshot/model/builder.h"
#include "heap/stacks/categories.h"
#include "verbs/convert/keep_categories.h"
#include "torch/keys.h"
#include "heap/stacks/profile.h"
#include "heap/walk/slice.h"

#include "unit.h"

#define BASE UINT64_C(0x7f0000000000)
#define MIB (UINT64_C(1) << 20)

static struct mt_builder *b;
static struct mt_snapshot s;
static struct mt_view v;
static struct mt_filter filter;
static struct mt_error err;

static void event(enum mt_action action, uint64_t addr, uint64_t size, int64_t time_us)
{
    struct mt_event e = {addr, size, time_us, 0, 0, (uint8_t)action, 0};
    ck_assert(mt_builder_event(b, &e));
}

static void segment(int32_t device, uint64_t addr, enum mt_block_state state)
{
    uint32_t first = (uint32_t)mt_builder_n_blocks(b);
    uint16_t keys = 1u << MT_BLOCK_KEY_size | 1u << MT_BLOCK_KEY_requested_size;
    struct mt_block one = {.addr = addr,
                           .size = MIB,
                           .requested = state ? MIB - 5 : 0,
                           .state = (uint8_t)state,
                           .present = keys};
    struct mt_block rest = {.addr = addr + MIB, .size = MIB, .present = keys};
    ck_assert(mt_builder_block(b, &one) && mt_builder_block(b, &rest));
    struct mt_segment g = {
        .addr = addr, .total_size = 2 * MIB, .device = device, .first_block = first, .n_blocks = 2};
    ck_assert(mt_builder_segment(b, &g, false));
}

/* Device 0: a segment, an allocation, a free (so nothing lives at the end); device 1: one that
 * stays. */
static void setup(void)
{
    b = mt_builder_new(1);
    ck_assert_uint_eq(mt_builder_event_shape(b, 0, 0), 0);
    event(MT_ACTION_SEGMENT_ALLOC, BASE, 2 * MIB, 10);
    event(MT_ACTION_ALLOC, BASE, MIB - 5, 20);
    event(MT_ACTION_FREE_REQUESTED, BASE, MIB - 5, 30);
    event(MT_ACTION_FREE_COMPLETED, BASE, MIB - 5, 40);
    event(MT_ACTION_SEGMENT_ALLOC, BASE + 16 * MIB, 2 * MIB, 10);
    event(MT_ACTION_ALLOC, BASE + 16 * MIB, MIB - 5, 20);
    ck_assert(mt_builder_trace(b, 0, 4, false) && mt_builder_trace(b, 4, 2, false));
    segment(0, BASE, MT_BLOCK_INACTIVE);
    segment(1, BASE + 16 * MIB, MT_BLOCK_ALLOCATED);
    for (int i = 0; i < 2; i++) {
        struct mt_annotation a = {mt_builder_cstr(b, i ? "late" : "early"),
                                  mt_builder_cstr(b, "START"),
                                  0,
                                  i ? 35 : 15,
                                  0,
                                  15};
        ck_assert(mt_builder_annotation(b, &a));
    }
    ck_assert_int_eq(mt_builder_finish(b, &s, &err), MT_OK);
    mt_view_init(&v, &s);
    mt_filter_init(&filter);
}

static void teardown(void)
{
    mt_view_release(&v);
    mt_filter_release(&filter);
    mt_snapshot_release(&s);
}

static void slice(void)
{
    ck_assert_int_eq(mt_view_slice(&v, &filter, &err), MT_OK);
}

START_TEST(one_device)
{
    filter.device = 1;
    slice();
    ck_assert_uint_eq(v.s.n_traces, 2); /* the index is the device */
    ck_assert_uint_eq(v.s.traces[0].n, 0);
    ck_assert_uint_eq(v.s.traces[1].n, 2);
    ck_assert_uint_eq(v.s.n_segments, 1);
    ck_assert_int_eq(v.s.segments[0].device, 1);
    ck_assert_uint_eq(v.s.blocks[v.s.segments[0].first_block].addr, BASE + 16 * MIB);
    ck_assert_uint_eq(v.s.n_annotations, 0);
}
END_TEST

/* The first two events of each device: on device 0 the block lives again. */
START_TEST(cut_end)
{
    filter.event_max = 2;
    slice();
    ck_assert_uint_eq(v.s.traces[0].n, 2);
    ck_assert_uint_eq(v.s.n_segments, 2);
    const struct mt_segment *g = &v.s.segments[0];
    ck_assert_int_eq(g->device, 0);
    ck_assert_uint_eq(g->active_size, MIB);
    ck_assert_uint_eq(g->requested_size, MIB - 5);
    ck_assert_int_eq(v.s.blocks[g->first_block].state, MT_BLOCK_ALLOCATED);
    ck_assert(g->present >> MT_SEGMENT_KEY_blocks & 1);
    ck_assert_uint_eq(v.s.n_annotations, 1);
    ck_assert_int_eq(v.s.annotations[0].time_us, 15);
}
END_TEST

START_TEST(cut_beginning)
{
    filter.event_min = 1;
    slice();
    ck_assert_uint_eq(v.s.traces[0].n, 3);
    ck_assert_uint_eq(v.s.traces[1].n, 1);
    ck_assert_uint_eq(v.s.segments[0].active_size, s.segments[0].active_size);
    ck_assert_uint_eq(v.s.n_segments, 2);
}
END_TEST

START_TEST(nothing_left)
{
    filter.event_max = 0;
    slice();
    ck_assert_uint_eq(v.s.n_events, 0);
    ck_assert_uint_eq(v.s.n_segments, 0); /* before the first event nothing was reserved */
    ck_assert_uint_eq(v.s.n_annotations, 0);
}
END_TEST

/* ---- what is alive at a moment ---- */

static struct mt_profile profile_at(enum mt_moment_kind kind)
{
    struct mt_replay r;
    struct mt_profile p;
    struct mt_moment at = {.kind = kind};
    ck_assert_int_eq(mt_replay_init(&r, &s, 0, &err), MT_OK);
    ck_assert_int_eq(mt_profile_find(&p, &r, NULL, &at, &err), MT_OK);
    mt_replay_release(&r);
    return p;
}

START_TEST(profile)
{
    struct mt_profile p = profile_at(MT_AT_PEAK);
    ck_assert_uint_eq(p.live_bytes, MIB - 5);
    ck_assert_uint_eq(p.alloc_count, 1);
    mt_profile_release(&p);
    p = profile_at(MT_AT_END);
    ck_assert_uint_eq(p.live_bytes, 0);
    ck_assert_uint_eq(p.alloc_bytes, MIB - 5);
    mt_profile_release(&p);
    p = profile_at(MT_AT_START);
    ck_assert_uint_eq(p.live_count, 0);
    mt_profile_release(&p);
}
END_TEST

/* ---- budgets ---- */

START_TEST(budget)
{
    struct mt_filtered f;
    struct mt_budget_facts facts;
    struct mt_budget_result results[MT_BUDGET_RULE_COUNT];
    ck_assert_int_eq(mt_filtered_init(&f, &filter, &s, &err), MT_OK);
    ck_assert_int_eq(mt_budget_measure(&facts, &s, &f, ~0u, &err), MT_OK);
    mt_filtered_release(&f);
    ck_assert_uint_eq(facts.peak, MIB - 5);
    ck_assert_uint_eq(facts.reserved, 2 * MIB);
    struct mt_budget at = {.rules = 1u << MT_BUDGET_MAX_PEAK | 1u << MT_BUDGET_MAX_RESERVED |
                                    1u << MT_BUDGET_MAX_GROWTH | 1u << MT_BUDGET_NO_LEAKS,
                           .max_peak = MIB - 5,
                           .max_reserved = 2 * MIB - 1,
                           .base_peak = MIB,
                           .unknown_breaks = true};
    ck_assert_uint_eq(mt_budget_check(&at, &facts, results), 4);
    ck_assert(results[0].ok);  /* exactly the budget */
    ck_assert(!results[1].ok); /* one byte over */
    ck_assert(results[2].ok);  /* shrank */
    ck_assert_int_eq(results[2].found_signed, -5);
    ck_assert(results[3].is_unknown && !results[3].ok);
}
END_TEST

START_TEST(categories_kept)
{
    ck_assert_int_eq(mt_view_keep_categories(&v, &err), MT_OK);
    size_t alloc = 1;
    const struct mt_event_shape *shape = &v.s.event_shapes[v.s.events[alloc].shape];
    ck_assert(shape->present >> MT_EVENT_KEY_category & 1);
    uint32_t word = mt_event_column_get(&v.s, alloc, MT_COLUMN_CATEGORY);
    enum mt_category category;
    enum mt_sureness sure;
    ck_assert(mt_category_read(mt_snapshot_str(&v.s, word), &category, &sure));
    ck_assert_int_eq(category, MT_CATEGORY_UNKNOWN);
    ck_assert(!(v.s.event_shapes[v.s.events[0].shape].present >> MT_EVENT_KEY_category & 1));
}
END_TEST

/* As if the snapshot had been taken then: both devices, each at its own peak. */
START_TEST(at_the_peak)
{
    struct mt_moment at = {.kind = MT_AT_PEAK};
    ck_assert_int_eq(mt_view_at(&v, &at, &err), MT_OK);
    ck_assert_uint_eq(v.s.traces[0].n, 2);
    ck_assert_uint_eq(v.s.traces[1].n, 2);
    ck_assert_uint_eq(v.s.n_segments, 2);
    ck_assert_int_eq(v.s.segments[0].device, 0);
    ck_assert_uint_eq(v.s.segments[0].allocated_size, MIB);
    ck_assert_uint_eq(v.s.segments[1].total_size, 2 * MIB);
}
END_TEST

START_TEST(at_the_end_nothing_changes)
{
    struct mt_moment at = {.kind = MT_AT_END};
    ck_assert_int_eq(mt_view_at(&v, &at, &err), MT_OK);
    ck_assert_ptr_eq(v.s.segments, s.segments);
}
END_TEST

/* A segment that the undoing brings back belongs to the device. */
START_TEST(at_an_event_of_one_device)
{
    struct mt_moment at = {.kind = MT_AT_EVENT, .event = 3};
    ck_assert_int_eq(mt_view_at(&v, &at, &err), MT_OK);
    ck_assert_uint_eq(v.s.n_segments, 1); /* device 1 has two events: it is left out */
    at.event = 4;
    ck_assert_int_eq(mt_view_at(&v, &at, &err), MT_NOT_FOUND);
    ck_assert_str_eq(err.text, "--at 4: the trace of device 1 has 0 events");
}
END_TEST

/* The highest point inside the annotation, whatever comes before it. */
START_TEST(at_an_annotation)
{
    struct mt_moment at = {.kind = MT_AT_ANNOTATION, .annotation = "late"};
    ck_assert_int_eq(mt_view_at(&v, &at, &err), MT_OK);
    ck_assert_uint_eq(v.s.traces[0].n, 4); /* only the last event is later than 35 */
    at.annotation = "never";
    ck_assert_int_eq(mt_view_at(&v, &at, &err), MT_NOT_FOUND);
    ck_assert_str_eq(err.text, "no annotation in this file is named 'never'");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("slice");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, one_device);
    tcase_add_test(t, cut_end);
    tcase_add_test(t, cut_beginning);
    tcase_add_test(t, nothing_left);
    tcase_add_test(t, profile);
    tcase_add_test(t, budget);
    tcase_add_test(t, categories_kept);
    tcase_add_test(t, at_the_peak);
    tcase_add_test(t, at_the_end_nothing_changes);
    tcase_add_test(t, at_an_event_of_one_device);
    tcase_add_test(t, at_an_annotation);
    return unit_run_cases("slice", t);
}
