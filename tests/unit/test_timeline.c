/* SPDX-License-Identifier: MIT */
/* Binning: no extreme is lost, bands sum to the total, whoever matters has a band. */
#include "heap/walk/timeline.h"

#include "made_trace.h"
#include "unit.h"

static struct mt_timeline_options options(size_t columns, size_t bands)
{
    return (struct mt_timeline_options){.columns = columns, .bands = bands, .last = SIZE_MAX};
}

/* At every sample the bands sum to the total. */
static void check_sums(const struct mt_timeline *t)
{
    double before = -1;
    for (size_t i = 0; i < t->samples.n; i++) {
        uint64_t sum = 0;
        for (size_t b = 0; b < t->bands.n; b++) {
            sum += t->values[i * t->bands.n + b];
        }
        ck_assert_uint_eq(sum, t->samples.v[i].total);
        ck_assert(t->samples.v[i].x >= before && t->samples.v[i].x <= 1);
        before = t->samples.v[i].x;
    }
    uint64_t at_peak = 0;
    for (size_t b = 0; b < t->bands.n; b++) {
        at_peak += t->bands.v[b].at_peak;
    }
    ck_assert_uint_eq(at_peak, t->peak);
}

/* One stack that stays, one that comes and goes 1,000 times, one spike. */
static void make_busy(struct made *m, uint32_t *stacks)
{
    made_begin(m);
    stacks[0] = made_stack(m, "weights", 1);
    stacks[1] = made_stack(m, "forward", 2);
    stacks[2] = made_stack(m, "spike", 3);
    made_event(m, MT_ACTION_ALLOC, 0, 1000, stacks[0]);
    for (int i = 0; i < 1000; i++) {
        made_event(m, MT_ACTION_ALLOC, 4096, 500, stacks[1]);
        if (i == 700) {
            made_event(m, MT_ACTION_ALLOC, 8192, 5000, stacks[2]);
            made_event(m, MT_ACTION_FREE_COMPLETED, 8192, 5000, 0);
        }
        made_event(m, MT_ACTION_FREE_COMPLETED, 4096, 500, 0);
    }
    struct made_block blocks[2] = {{1024, 1000, MT_BLOCK_ALLOCATED, stacks[0]},
                                   {2 * MADE_MIB - 1024, 0, MT_BLOCK_INACTIVE, 0}};
    made_segment(m, 0, false, blocks, 2);
    made_finish(m);
}

START_TEST(extremes_are_kept)
{
    struct made m;
    struct mt_error err;
    uint32_t stacks[3];
    make_busy(&m, stacks);
    for (size_t columns = 1; columns < 3000; columns = columns * 3 + 1) {
        struct mt_timeline t;
        struct mt_timeline_options o = options(columns, 10);
        ck_assert_int_eq(mt_timeline_init(&t, &m.r, &o, &err), MT_OK);
        ck_assert_uint_eq(t.peak, 6500);
        ck_assert_uint_eq(t.peak_event, 1402);
        ck_assert_uint_eq(t.bands.n, 3);
        ck_assert_uint_eq(t.bands.v[0].stack, stacks[0]); /* the steady one is the ground */
        uint64_t most = 0;
        for (size_t i = 0; i < t.samples.n; i++) {
            most = t.samples.v[i].total > most ? t.samples.v[i].total : most;
        }
        ck_assert_uint_eq(most, t.peak);
        ck_assert_uint_le(t.samples.n, t.every_event ? t.n_events + 1 : 4 * columns + 2);
        ck_assert_int_eq(t.every_event, t.n_events <= 2 * columns);
        check_sums(&t);
        mt_timeline_release(&t);
    }
    made_release(&m);
}
END_TEST

/* A peak at the last event is a step in the picture, not a line at its edge. */
START_TEST(the_last_event_has_a_width)
{
    struct made m;
    struct mt_error err;
    struct mt_timeline t;
    made_begin(&m);
    uint32_t a = made_stack(&m, "weights", 1);
    for (uint64_t i = 0; i < 4; i++) {
        made_event(&m, MT_ACTION_ALLOC, i * MADE_MIB, MADE_MIB, a);
    }
    made_finish(&m);
    struct mt_timeline_options o = options(50, 5);
    ck_assert_int_eq(mt_timeline_init(&t, &m.r, &o, &err), MT_OK);
    ck_assert_uint_eq(t.peak_event, 3);
    ck_assert_double_eq(t.peak_x, 0.75);
    ck_assert_double_eq(t.samples.v[t.samples.n - 1].x, 0.75);
    ck_assert_double_eq(mt_timeline_x(&t, &m.r, 0), 0);
    ck_assert_double_eq(mt_timeline_x(&t, &m.r, SIZE_MAX), 0);
    mt_timeline_release(&t);
    made_release(&m);
}
END_TEST

START_TEST(others_are_summed)
{
    struct made m;
    struct mt_error err;
    struct mt_timeline t;
    uint32_t stacks[3];
    make_busy(&m, stacks);
    struct mt_timeline_options o = options(50, 1);
    ck_assert_int_eq(mt_timeline_init(&t, &m.r, &o, &err), MT_OK);
    ck_assert_uint_eq(t.bands.n, 2);
    ck_assert_uint_eq(t.bands.v[0].stack, stacks[2]); /* most at the peak */
    ck_assert_uint_eq(t.bands.v[1].stack, MT_BAND_OTHERS);
    ck_assert_uint_eq(t.bands.v[1].stacks, 2);
    check_sums(&t);
    mt_timeline_release(&t);
    made_release(&m);
}
END_TEST

START_TEST(a_window)
{
    struct made m;
    struct mt_error err;
    struct mt_timeline t;
    uint32_t stacks[3];
    make_busy(&m, stacks);
    struct mt_timeline_options o = options(50, 5);
    o.first = 100;
    o.last = 200;
    ck_assert_int_eq(mt_timeline_init(&t, &m.r, &o, &err), MT_OK);
    ck_assert_uint_eq(t.peak, 1500); /* what came before still counts; the spike does not */
    ck_assert_uint_eq(t.last - t.first, 100);
    ck_assert_uint_eq(t.samples.v[0].event, 99);
    ck_assert_int_eq(t.last_us - t.first_us, 99000);
    check_sums(&t);
    mt_timeline_release(&t);
    o.first = 5000;
    ck_assert_int_eq(mt_timeline_init(&t, &m.r, &o, &err), MT_OK);
    ck_assert(t.flat && t.samples.n == 2);
    mt_timeline_release(&t);
    made_release(&m);
}
END_TEST

START_TEST(by_time_and_filters)
{
    struct made m;
    struct mt_error err;
    struct mt_timeline t;
    uint32_t stacks[3];
    make_busy(&m, stacks);
    struct mt_timeline_options o = options(50, 5);
    o.by_time = true;
    o.live_only = true;
    ck_assert_int_eq(mt_timeline_init(&t, &m.r, &o, &err), MT_OK);
    ck_assert(t.by_time);
    ck_assert_uint_eq(t.peak, 1000);
    check_sums(&t);
    mt_timeline_release(&t);
    o.live_only = false;
    o.freed_only = true;
    ck_assert_int_eq(mt_timeline_init(&t, &m.r, &o, &err), MT_OK);
    ck_assert_uint_eq(t.peak, 5500);
    mt_timeline_release(&t);
    ck_assert_uint_eq(mt_timeline_event_at(&m.r, 1000000), 0);
    ck_assert_uint_eq(mt_timeline_event_at(&m.r, 1000001), 1);
    made_release(&m);
}
END_TEST

/* Memory from before the trace: one grey band, or its stacks when it is most of the peak. */
START_TEST(older_memory)
{
    struct made m;
    struct mt_error err;
    struct mt_timeline t;
    made_begin(&m);
    uint32_t a = made_stack(&m, "a", 1), b = made_stack(&m, "b", 2);
    made_event(&m, MT_ACTION_FREE_COMPLETED, 4096, 300, 0);
    made_event(&m, MT_ACTION_ALLOC, 8192, 5000, b);
    made_event(&m, MT_ACTION_FREE_COMPLETED, 8192, 5000, 0);
    struct made_block blocks[2] = {{1024, 1000, MT_BLOCK_ALLOCATED, a},
                                   {2 * MADE_MIB - 1024, 0, MT_BLOCK_INACTIVE, 0}};
    made_segment(&m, 0, false, blocks, 2);
    made_finish(&m);
    struct mt_timeline_options o = options(50, 5);
    ck_assert_int_eq(mt_timeline_init(&t, &m.r, &o, &err), MT_OK);
    ck_assert_uint_eq(t.bands.n, 2);
    ck_assert_uint_eq(t.bands.v[0].stack, MT_BAND_OLDER);
    ck_assert_uint_eq(t.bands.v[0].at_peak, 1000);
    ck_assert_uint_eq(t.samples.v[0].total, 1300);
    mt_timeline_release(&t);
    o.last = 1;
    ck_assert_int_eq(mt_timeline_init(&t, &m.r, &o, &err), MT_OK);
    ck_assert_uint_eq(t.bands.n, 2); /* freed ones have no stack, so some stays grey */
    ck_assert_uint_eq(t.bands.v[1].stack, a);
    check_sums(&t);
    mt_timeline_release(&t);
    made_release(&m);
}
END_TEST

/* Segments: a map by one stack, half of it unmapped, one OOM. */
START_TEST(segments)
{
    struct made m;
    struct mt_error err;
    struct mt_timeline t;
    made_begin(&m);
    uint32_t a = made_stack(&m, "a", 1), b = made_stack(&m, "b", 2);
    made_event(&m, MT_ACTION_SEGMENT_MAP, 0, 4 * MADE_MIB, a);
    made_event(&m, MT_ACTION_SEGMENT_MAP, 4 * MADE_MIB, 4 * MADE_MIB, b);
    made_event(&m, MT_ACTION_SEGMENT_UNMAP, 2 * MADE_MIB, 4 * MADE_MIB, 0);
    made_event(&m, MT_ACTION_OOM, 77, 9 * MADE_MIB, a);
    struct made_block empty = {2 * MADE_MIB, 0, MT_BLOCK_INACTIVE, 0};
    made_segment(&m, 0, true, &empty, 1);
    made_segment(&m, 6 * MADE_MIB, true, &empty, 1);
    made_finish(&m);
    struct mt_timeline_options o = options(50, 5);
    o.subject = MT_TIMELINE_SEGMENTS;
    ck_assert_int_eq(mt_timeline_init(&t, &m.r, &o, &err), MT_OK);
    ck_assert_uint_eq(t.peak, 8 * MADE_MIB);
    ck_assert_uint_eq(t.bands.n, 2);
    const uint64_t *end = t.values + (t.samples.n - 1) * t.bands.n;
    ck_assert_uint_eq(end[0], 2 * MADE_MIB);
    ck_assert_uint_eq(end[1], 2 * MADE_MIB);
    ck_assert_uint_eq(t.ooms.n, 1);
    ck_assert_uint_eq(t.ooms.v[0].device_free, 77);
    ck_assert_uint_eq(t.ooms.v[0].need, 20 * MADE_MIB); /* one of the large pool */
    ck_assert_uint_eq(t.ooms.v[0].reserved, 4 * MADE_MIB);
    check_sums(&t);
    mt_timeline_release(&t);
    made_release(&m);
}
END_TEST

static struct mt_timeline_oom refusal(uint64_t reserved, uint64_t need, uint64_t device_free)
{
    return (struct mt_timeline_oom){
        .asked = need, .need = need, .reserved = reserved, .device_free = device_free};
}

/* The range of a limit: from all refusals that agree, else from the last. */
START_TEST(a_limit_is_a_range)
{
    struct mt_timeline_oom ooms[2] = {refusal(60, 40, 1000), refusal(50, 60, 1000)};
    struct mt_timeline t = {.ooms = {.v = ooms}};
    struct mt_limit_range l;
    ck_assert(!mt_timeline_limit(&t, 70, &l)); /* nothing was refused */
    t.ooms.n = 2;
    ck_assert(mt_timeline_limit(&t, 70, &l));
    ck_assert_uint_eq(l.least, 70);
    ck_assert_uint_eq(l.below, 100);
    ck_assert(mt_timeline_limit(&t, 105, &l)); /* changed on the way */
    ck_assert_uint_eq(l.least, 50);
    ck_assert_uint_eq(l.below, 110);
    ooms[0].device_free = 0; /* no limit refused that one */
    ck_assert(mt_timeline_limit(&t, 105, &l));
    ck_assert_uint_eq(l.least, 105);
    ck_assert_uint_eq(l.below, 110);
    ooms[1].device_free = 59;
    ck_assert(!mt_timeline_limit(&t, 70, &l));
}
END_TEST

UNIT_MAIN("timeline", the_last_event_has_a_width, a_limit_is_a_range, extremes_are_kept,
          others_are_summed, a_window, by_time_and_filters, older_memory, segments)
