/* SPDX-License-Identifier: MIT */
/* What the preload's mode cache asks of the live allocator, over the fake driver. */
#include "unit.h"

#include "allocator/device/device_cuda.h"

#include "fake_cuda/fake_cuda.h"
#include "live/core/live.h"
#include "live/core/live_cache.h"

enum { MIB = 1 << 20, STREAM = 0x5000, OTHER = 0x6000 };

static struct mt_error err;
static struct mt_live *live;

static void open_live(void)
{
    const struct mt_live_options o = {0};
    struct mt_record_settings s;
    fake_cuda_reset(2, (uint64_t)1 << 30);
    ck_assert_int_eq(mt_live_new(&o, &live, &err), MT_OK);
    mt_record_settings_default(&s);
    s.stacks = MT_RECORD_STACKS_NONE;
    mt_live_record(live, &s);
}

static void close_live(void)
{
    ck_assert_int_eq(mt_live_check(live, &err), MT_OK);
    mt_live_free(live);
    ck_assert_str_eq(fake_cuda_complaint(), "");
    ck_assert_uint_eq(fake_cuda_open_things(), 0);
}

static uint64_t take(int device, uint64_t size, uint64_t stream)
{
    uint64_t addr = 0;
    ck_assert_int_eq(mt_cache_allocate(live, device, size, stream, 0, &addr, &err), MT_OK);
    return addr;
}

static struct mt_cache_place place_of(uint64_t addr)
{
    struct mt_cache_place p;
    ck_assert(mt_cache_find(live, addr, &p));
    return p;
}

START_TEST(whose_an_address_is)
{
    open_live();
    uint64_t a = take(0, 3 * MIB, STREAM), b = take(0, 3 * MIB, STREAM), c = take(1, 30 * MIB, 0);
    struct mt_cache_place p = place_of(b), segment;
    ck_assert(p.owned && p.block && p.device == 0);
    ck_assert_uint_eq(p.stream, STREAM);
    p = place_of(b + 512); /* no block begins there, but it is the cache's */
    ck_assert(p.owned && !p.block);
    ck_assert_uint_eq(p.base, a);
    p = place_of(c);
    ck_assert(p.block && p.device == 1);
    ck_assert(mt_cache_segment(live, b, &segment));
    ck_assert_uint_eq(segment.base, a);
    ck_assert(!mt_cache_segment(live, a - 1, &segment));
    ck_assert(!place_of(a + 20 * MIB).owned);
    ck_assert(!place_of(0).owned && !place_of(UINT64_MAX).owned);
    ck_assert_int_eq(mt_cache_free(live, 0, b, 0, 0, &err), MT_OK);
    p = place_of(b);
    ck_assert(p.owned && !p.block);
    ck_assert_int_eq(mt_cache_free(live, 0, b, 0, 0, &err), MT_NOT_FOUND);
    ck_assert_int_eq(mt_cache_free(live, 1, a, 0, 0, &err), MT_NOT_FOUND);
    close_live();
}
END_TEST

START_TEST(freed_from_another_stream)
{
    open_live();
    uint64_t a = take(0, 30 * MIB, STREAM);
    fake_cuda_hold_events(true);
    ck_assert_int_eq(mt_cache_free(live, 0, a, OTHER, 0, &err), MT_OK);
    uint64_t b = take(0, 30 * MIB, STREAM);
    ck_assert_uint_ne(a, b);
    ck_assert_int_eq(mt_cache_free(live, 0, b, STREAM, 0, &err), MT_OK); /* its own */
    ck_assert_uint_eq(take(0, 30 * MIB, STREAM), b);
    fake_cuda_hold_events(false);
    ck_assert_uint_eq(take(0, 30 * MIB, STREAM), a);
    close_live();
}
END_TEST

START_TEST(idle)
{
    open_live();
    uint64_t a = take(0, 30 * MIB, STREAM), b = take(0, 3 * MIB, STREAM), released = 0;
    ck_assert_uint_eq(mt_cache_idle(live, 0), 0);
    ck_assert_int_eq(mt_cache_free(live, 0, a, 0, 0, &err), MT_OK);
    ck_assert_uint_eq(mt_cache_idle(live, 0), 30 * MIB); /* not what is free beside `b` */
    ck_assert_uint_eq(mt_cache_idle(live, 1), 0);
    ck_assert_uint_eq(mt_cache_idle(live, -1), 0);
    ck_assert_uint_eq(mt_cache_idle(live, 2), 0);
    ck_assert_int_eq(mt_cache_release_idle(live, &released, &err), MT_OK);
    ck_assert_uint_eq(released, 30 * MIB);
    ck_assert_uint_eq(mt_cache_idle(live, 0), 0);
    ck_assert_uint_eq(fake_cuda_used(0), 20 * MIB);
    ck_assert(place_of(b).block);
    close_live();
}
END_TEST

START_TEST(forgotten)
{
    open_live();
    uint64_t a = take(0, 30 * MIB, STREAM);
    take(0, 3 * MIB, 0);
    take(1, 3 * MIB, 0);
    fake_cuda_hold_events(true);
    ck_assert_int_eq(mt_cache_free(live, 0, a, OTHER, 0, &err), MT_OK); /* still pending */
    mt_cache_forget(live, 0);
    ck_assert_uint_eq(fake_cuda_used(0), 0);
    ck_assert_uint_eq(fake_cuda_used(1), 20 * MIB);
    ck_assert(!place_of(a).owned);
    mt_cache_forget(live, 0);
    mt_cache_forget(live, 7);
    take(0, 3 * MIB, 0); /* it comes back */
    close_live();
}
END_TEST

START_TEST(refused)
{
    open_live();
    uint64_t addr = 0;
    take(0, 30 * MIB, 0);
    ck_assert_int_eq(mt_cache_allocate(live, 0, (uint64_t)1 << 40, 0, 0, &addr, &err),
                     MT_DEVICE_OOM);
    ck_assert_int_eq(mt_cache_allocate(live, 2, MIB, 0, 0, &addr, &err), MT_USAGE);
    fake_cuda_fail("cuMemAlloc_v2", 1, 700);
    ck_assert_int_eq(mt_cache_allocate(live, 0, 60 * MIB, 0, 0, &addr, &err), MT_DEVICE);
    close_live();
}
END_TEST

START_TEST(contexts)
{
    open_live();
    struct mt_device_cuda *zero = NULL, *one = NULL;
    ck_assert_int_eq(mt_cache_device(live, 2, &zero, &err), MT_USAGE);
    ck_assert_int_eq(mt_cache_device(live, 0, &zero, &err), MT_OK);
    ck_assert_int_eq(mt_cache_device(live, 1, &one, &err), MT_OK);
    ck_assert_int_eq(mt_device_cuda_current(zero), MT_CUDA_CURRENT_NONE);
    ck_assert(mt_device_cuda_has_stream(zero, STREAM));
    ck_assert_int_eq(mt_device_cuda_sync(zero), 0);
    fake_cuda_fail("cuStreamSynchronize", 1, 400);
    ck_assert_int_eq(mt_device_cuda_sync_stream(one, STREAM), 400);
    ck_assert_int_eq(mt_device_cuda_sync_stream(one, STREAM), 0);
    fake_cuda_fail("cuStreamGetCtx", 1, 400);
    ck_assert(!mt_device_cuda_has_stream(zero, STREAM));
    close_live();
}
END_TEST

UNIT_MAIN("live cache", whose_an_address_is, freed_from_another_stream, idle, forgotten, refused,
          contexts)
