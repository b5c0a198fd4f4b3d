/* SPDX-License-Identifier: MIT */
/* Sums over segments, blocks and events; completeness; splits and merges. */
#include "heap/sums/totals.h"

#include "make.h"
#include "unit.h"

#define MIB (UINT64_C(1) << 20)
#define BASE UINT64_C(0x7f0000000000)

static struct make m;
static struct mt_totals t;
static struct mt_error err;

static const struct mt_device_totals *device(int32_t id)
{
    ck_assert_int_eq(mt_totals_find(&t, &m.s, &m.all, MT_TOTALS_SPLITS | MT_TOTALS_HOST, &err),
                     MT_OK);
    const struct mt_device_totals *d = mt_totals_device(&t, id);
    ck_assert_ptr_nonnull(d);
    return d;
}

static void done(void)
{
    mt_totals_release(&t);
    make_free(&m);
}

START_TEST(counters)
{
    make_begin(&m);
    make_segment(&m, BASE, 0);
    make_block(&m, 4 * MIB, MT_BLOCK_ALLOCATED, 3 * MIB, 0);
    make_block(&m, 8 * MIB, MT_BLOCK_INACTIVE, 7 * MIB, 0);
    make_block(&m, 8 * MIB, MT_BLOCK_PENDING, 8 * MIB, 0);
    make_segment(&m, BASE + 64 * MIB, 0x55);
    m.segment.kind = MT_POOL_SMALL;
    m.segment.pool = (struct mt_pool_id){2, 0};
    make_block(&m, 2 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    make_segment(&m, BASE + 128 * MIB, 0);
    m.segment.expandable = true;
    make_block(&m, 1 * MIB, MT_BLOCK_ALLOCATED, 100, 0);
    make_block(&m, 19 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    make_end(&m);
    const struct mt_device_totals *d = device(0);
    ck_assert_uint_eq(d->all.reserved, 42 * MIB);
    ck_assert_uint_eq(d->all.allocated, 5 * MIB);
    ck_assert_uint_eq(d->all.active, 13 * MIB);
    ck_assert_uint_eq(d->all.requested, 11 * MIB + 100);
    ck_assert_uint_eq(d->all.inactive, 29 * MIB);
    ck_assert_uint_eq(d->all.inactive_split, 8 * MIB); /* whole and expandable ones do not count */
    ck_assert_uint_eq(d->all.inactive_split_blocks, 1);
    ck_assert_uint_eq(d->all.largest_free, 19 * MIB);
    ck_assert_uint_eq(d->all.segments, 3);
    ck_assert_uint_eq(d->all.blocks, 6);
    ck_assert_int_eq(mt_counters_free(&d->all), (int64_t)(29 * MIB));
    ck_assert_double_eq_tol(mt_counters_fragmentation(&d->all), 37.0 / 42.0, 1e-12);
    ck_assert_uint_eq(d->pool[MT_POOL_SMALL].reserved, 2 * MIB);
    ck_assert_uint_eq(d->pool[MT_POOL_LARGE].reserved, 40 * MIB);
    ck_assert_uint_eq(d->private_pools.n, 1);
    ck_assert_int_eq(d->private_pools.v[0].id.a, 2);
    ck_assert_uint_eq(d->streams.n, 2);
    ck_assert_uint_eq(d->streams.v[1].counters.reserved, 2 * MIB);
    ck_assert_uint_eq(d->segment_sizes.n, 2);
    ck_assert_uint_eq(d->segment_sizes.v[1].segments, 2);
    ck_assert_uint_eq(d->segment_sizes.v[1].allocated, 5 * MIB);
    ck_assert_uint_eq(d->sizes[6].live_blocks, 1);
    ck_assert_uint_eq(d->sizes[21].live_bytes, 3 * MIB);
    ck_assert(!d->trace.complete);
    done();
}
END_TEST

/* What empty_cache gives back: whole segments and whole pages, but nothing of private pools. */
START_TEST(releasable)
{
    make_begin(&m);
    make_segment(&m, BASE, 0);
    m.segment.kind = MT_POOL_LARGE;
    make_block(&m, 20 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    make_segment(&m, BASE + 64 * MIB, 0);
    m.segment.kind = MT_POOL_LARGE;
    m.segment.pool = (struct mt_pool_id){2, 0};
    make_block(&m, 20 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    make_segment(&m, BASE + 128 * MIB, 0);
    m.segment.kind = MT_POOL_LARGE;
    m.segment.expandable = true;
    make_block(&m, 1 * MIB, MT_BLOCK_ALLOCATED, MIB, 0);
    make_block(&m, 59 * MIB, MT_BLOCK_INACTIVE, 0, 0); /* two pages of 20 MiB */
    make_segment(&m, BASE + 256 * MIB, 0);
    m.segment.kind = MT_POOL_SMALL;
    m.segment.expandable = true;
    make_block(&m, 1 * MIB, MT_BLOCK_ALLOCATED, MIB, 0);
    make_block(&m, 4 * MIB, MT_BLOCK_INACTIVE, 0, 0); /* one of 2 MiB, from 2 to 4 */
    make_block(&m, 1 * MIB, MT_BLOCK_ALLOCATED, MIB, 0);
    make_end(&m);
    const struct mt_device_totals *d = device(0);
    ck_assert_uint_eq(d->all.reserved, 106 * MIB);
    ck_assert_uint_eq(d->all.releasable, 62 * MIB);
    ck_assert_double_eq_tol(mt_counters_cut_up(&d->all), (106.0 - 3 - 62) / 106.0, 1e-12);
    done();
}
END_TEST

/* From nothing: one segment, three requests, one of them freed. */
static void small_program(void)
{
    make_event(&m, MT_ACTION_SEGMENT_ALLOC, BASE, 2 * MIB, 0);
    make_event(&m, MT_ACTION_ALLOC, BASE, 1000, 0);
    make_event(&m, MT_ACTION_ALLOC, BASE + 1024, 600, 0);
    make_event(&m, MT_ACTION_ALLOC, BASE + 2048, 1, 0);
    make_event(&m, MT_ACTION_FREE_REQUESTED, BASE + 1024, 600, 0);
    make_event(&m, MT_ACTION_FREE_COMPLETED, BASE + 1024, 600, 0);
}

static void small_state(void)
{
    make_segment(&m, BASE, 0);
    m.segment.kind = MT_POOL_SMALL;
    make_block(&m, 1024, MT_BLOCK_ALLOCATED, 1000, 0);
    make_block(&m, 1024, MT_BLOCK_INACTIVE, 600, 0);
    make_block(&m, 512, MT_BLOCK_ALLOCATED, 1, 0);
    make_block(&m, 2 * MIB - 2560, MT_BLOCK_INACTIVE, 0, 0);
    make_end(&m);
}

START_TEST(complete_trace)
{
    make_begin(&m);
    small_program();
    small_state();
    const struct mt_trace_totals *c = &device(0)->trace;
    ck_assert(c->complete);
    ck_assert_uint_eq(c->events, 6);
    ck_assert_uint_eq(c->actions[MT_ACTION_ALLOC], 3);
    ck_assert_uint_eq(c->misses, 1);
    ck_assert_uint_eq(c->hits, 2);
    ck_assert(c->splits_known);
    ck_assert_uint_eq(c->splits, 3);
    ck_assert_uint_eq(c->merges, 0);
    ck_assert(c->retries_known);
    ck_assert_uint_eq(c->retries, 0);
    ck_assert_int_eq(c->first_us, MT_NO_TIME);
    done();
}
END_TEST

START_TEST(begins_late)
{
    make_begin(&m);
    m.time_us = 100;
    make_event(&m, MT_ACTION_FREE_COMPLETED, BASE + 8192, 300, 0);
    make_event(&m, MT_ACTION_ALLOC, BASE, 1000, 0);
    make_segment(&m, BASE, 0);
    make_block(&m, 1024, MT_BLOCK_ALLOCATED, 1000, 0);
    make_block(&m, 512, MT_BLOCK_ALLOCATED, 7, 0);
    make_end(&m);
    const struct mt_trace_totals *c = &device(0)->trace;
    ck_assert(!c->complete);
    ck_assert_uint_eq(c->ghosts, 2);
    ck_assert_uint_eq(c->ghost_bytes, 307);
    ck_assert_uint_eq(c->start_reserved, 1536);
    ck_assert(!c->splits_known);
    ck_assert(!c->retries_known);
    ck_assert_int_eq(c->first_us, 100);
    ck_assert_int_eq(c->last_us, 101);
    done();
}
END_TEST

/* The counts agree, the addresses do not: a file that was put together. */
START_TEST(counts_that_only_agree)
{
    make_begin(&m);
    make_event(&m, MT_ACTION_SEGMENT_ALLOC, BASE, 1024, 0);
    make_event(&m, MT_ACTION_ALLOC, BASE, 1000, 0);
    make_segment(&m, BASE + 4096, 0);
    make_block(&m, 1024, MT_BLOCK_ALLOCATED, 1000, 0);
    make_end(&m);
    ck_assert(!device(0)->trace.complete);
    done();
}
END_TEST

START_TEST(retries)
{
    make_begin(&m);
    small_program();
    make_event(&m, MT_ACTION_OOM, 5, 64 * MIB, 0);
    small_state();
    const struct mt_trace_totals *c = &device(0)->trace;
    ck_assert(c->retries_known);
    ck_assert_uint_eq(c->retries, 1);
    done();
    make_begin(&m);
    make_event(&m, MT_ACTION_SEGMENT_ALLOC, BASE + 64 * MIB, 20 * MIB, 0);
    make_event(&m, MT_ACTION_SEGMENT_FREE, BASE + 64 * MIB, 20 * MIB, 0);
    small_program(); /* a release, then the driver again: retry or empty_cache */
    small_state();
    c = &device(0)->trace;
    ck_assert(c->complete);
    ck_assert(!c->retries_known);
    done();
}
END_TEST

START_TEST(merges_on_both_sides)
{
    make_begin(&m);
    small_program();
    make_event(&m, MT_ACTION_FREE_COMPLETED, BASE, 1000, 0);     /* joins the one behind */
    make_event(&m, MT_ACTION_FREE_COMPLETED, BASE + 2048, 1, 0); /* joins both sides */
    make_segment(&m, BASE, 0);
    make_block(&m, 2 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    make_end(&m);
    const struct mt_trace_totals *c = &device(0)->trace;
    ck_assert(c->splits_known);
    ck_assert_uint_eq(c->splits, 3);
    ck_assert_uint_eq(c->merges, 3);
    done();
}
END_TEST

START_TEST(expandable)
{
    make_begin(&m);
    make_event(&m, MT_ACTION_SEGMENT_MAP, BASE, 20 * MIB, 0);
    make_event(&m, MT_ACTION_SEGMENT_MAP, BASE + 20 * MIB, 20 * MIB, 0); /* one piece now */
    make_event(&m, MT_ACTION_ALLOC, BASE, 40 * MIB, 0);
    make_event(&m, MT_ACTION_FREE_COMPLETED, BASE, 40 * MIB, 0);
    make_event(&m, MT_ACTION_SEGMENT_UNMAP, BASE + 20 * MIB, 20 * MIB, 0);
    make_segment(&m, BASE, 0);
    m.segment.expandable = true;
    make_block(&m, 20 * MIB, MT_BLOCK_INACTIVE, 0, 0);
    make_end(&m);
    const struct mt_trace_totals *c = &device(0)->trace;
    ck_assert(c->complete);
    ck_assert(c->splits_known);
    ck_assert_uint_eq(c->splits, 0);
    ck_assert_uint_eq(c->merges, 0);
    done();
}
END_TEST

START_TEST(filtered)
{
    make_begin(&m);
    small_program();
    small_state();
    mt_filtered_release(&m.all);
    m.everything.size_min = 700;
    ck_assert_int_eq(mt_filtered_init(&m.all, &m.everything, &m.s, &err), MT_OK);
    const struct mt_device_totals *d = device(0);
    ck_assert_uint_eq(d->trace.actions[MT_ACTION_ALLOC], 1);
    ck_assert_uint_eq(d->trace.misses, 1); /* still the one that the driver served */
    ck_assert_uint_eq(d->trace.hits, 0);
    ck_assert_uint_eq(d->sizes[9].allocs, 1);
    ck_assert_uint_eq(d->sizes[0].allocs, 0);
    ck_assert(d->trace.complete);
    ck_assert_uint_eq(t.events_left_out, 4);
    ck_assert_uint_eq(t.blocks_left_out, 1);
    done();
}
END_TEST

UNIT_MAIN("totals", counters, releasable, complete_trace, begins_late, counts_that_only_agree,
          retries, merges_on_both_sides, expandable, filtered)
