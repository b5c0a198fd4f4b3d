/* SPDX-License-Identifier: MIT */
/* The live allocator over the fake driver: requests, streams, captures, limits, threads, and every
 * call of the driver failing once. */
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "torch/alloc_conf.h"

#include "allocator/device/cuda_driver.h"
#include "fake_cuda/fake_cuda.h"
#include "live/dump/dumper.h"
#include "live/core/live.h"
#include "live/dump/writer.h"

static struct mt_live *live;
static struct mt_live_refusal refusal;
static struct mt_error err;

static void open_live(const char *conf, int devices, uint64_t memory)
{
    const struct mt_live_options o = {.conf = conf};
    fake_cuda_reset(devices, memory);
    ck_assert_msg(mt_live_new(&o, &live, &err) == MT_OK, "%s", err.text);
}

static void close_live(void)
{
    ck_assert_msg(mt_live_check(live, &err) == MT_OK, "%s", err.text);
    mt_live_free(live);
    ck_assert_str_eq(fake_cuda_complaint(), "");
    ck_assert_uint_eq(fake_cuda_open_things(), 0);
    ck_assert_uint_eq(fake_cuda_used(0), 0);
}

static uint64_t take(uint64_t size, int device, uint64_t stream)
{
    uint64_t addr = mt_live_allocate(live, size, device, stream, &refusal);
    ck_assert_msg(addr != 0, "%s", refusal.text);
    return addr;
}

static void give(uint64_t addr)
{
    ck_assert_msg(mt_live_release(live, addr, 0, &err) == MT_OK, "%s", err.text);
}

static int64_t stat_of(int device, enum mt_alloc_stat_id id)
{
    struct mt_alloc_stats s;
    ck_assert_int_eq(mt_live_stats(live, device, &s, &err), MT_OK);
    return s.stat[id][MT_SLOT_ALL].current;
}

START_TEST(requests_come_from_the_cache)
{
    open_live("", 2, 1024 * MT_MIB);
    uint64_t a = take(1000, 0, 0), b = take(1000, 1, 0);
    ck_assert_uint_eq(fake_cuda_used(0), 2 * MT_MIB);
    ck_assert_uint_eq(fake_cuda_used(1), 2 * MT_MIB);
    give(a); /* with a wrong or right device as the hint */
    give(b);
    ck_assert_uint_eq(take(900, 0, 0), a);
    ck_assert_uint_eq(take(900, 1, 0), b);
    ck_assert_uint_ne(take(900, 0, 0), a);
    ck_assert_int_eq(stat_of(0, MT_STAT_ALLOCATION), 2);
    ck_assert_int_eq(mt_live_release(live, a + 512 * 7, 0, &err), MT_NOT_FOUND);
    ck_assert_uint_eq(mt_live_allocate(live, 0, 0, 0, &refusal), 0);
    ck_assert_uint_eq(mt_live_allocate(live, 10, 2, 0, &refusal), 0);
    ck_assert(!refusal.out_of_memory);
    ck_assert_str_eq(refusal.text, "memtool: there is no CUDA device 2, only 2 device(s)");
    close_live();
}
END_TEST

START_TEST(other_streams_are_waited_for)
{
    open_live("", 1, 1024 * MT_MIB);
    uint64_t a = take(4096, 0, 0);
    fake_cuda_hold_events(true);
    ck_assert_int_eq(mt_live_record_stream(live, a, 0x77, &err), MT_OK);
    give(a);
    ck_assert_int_eq(stat_of(0, MT_STAT_ALLOCATION), 0);
    ck_assert_int_eq(stat_of(0, MT_STAT_ACTIVE), 1);
    ck_assert_uint_ne(take(4096, 0, 0), a);
    fake_cuda_hold_events(false);
    ck_assert_uint_eq(take(4096, 0, 0), a);
    ck_assert_int_eq(mt_live_record_stream(live, 0x123, 0x77, &err), MT_NOT_FOUND);
    close_live();
}
END_TEST

/* A stream may be gone, or be another device's, when the block that it used is freed: its work is
 * then waited for, and later requests are served as ever. */
START_TEST(streams_without_events_are_waited_for)
{
    void *const gone = (void *)0x770, *const far = (void *)0x880;
    open_live("", 2, 1024 * MT_MIB);
    uint64_t a = take(4096, 0, 0), b = take(8192, 0, 0);
    ck_assert_int_eq(mt_live_record_stream(live, a, (uintptr_t)gone, &err), MT_OK);
    ck_assert_int_eq(mt_live_record_stream(live, b, (uintptr_t)far, &err), MT_OK);
    fake_cuda_hold_events(true);
    fake_cuda_stream(gone, -1);
    fake_cuda_stream(far, 1);
    give(a);
    ck_assert_uint_eq(fake_cuda_calls("cuCtxSynchronize"), 1);
    ck_assert_uint_eq(take(4096, 0, 0), a);
    give(b);
    ck_assert_uint_eq(fake_cuda_calls("cuCtxSynchronize"), 1);
    ck_assert_uint_eq(fake_cuda_calls("cuStreamSynchronize"), 1);
    ck_assert_uint_eq(take(8192, 0, 0), b);
    ck_assert_int_eq(stat_of(0, MT_STAT_ACTIVE), 2);
    fake_cuda_hold_events(false);
    close_live();
}
END_TEST

START_TEST(expandable_segments_grow_in_place)
{
    open_live("expandable_segments:True", 1, 1024 * MT_MIB);
    uint64_t a = take(25 * MT_MIB, 0, 0);
    ck_assert_uint_eq(take(30 * MT_MIB, 0, 0), a + 25 * MT_MIB);
    ck_assert_uint_eq(fake_cuda_used(0), 60 * MT_MIB);
    give(a);
    ck_assert_int_eq(mt_live_empty_cache(live, &err), MT_OK);
    ck_assert_uint_eq(fake_cuda_used(0), 40 * MT_MIB);
    close_live();
}
END_TEST

START_TEST(refusals_say_why)
{
    open_live("", 1, 100 * MT_MIB);
    uint64_t a = take(60 * MT_MIB, 0, 0);
    ck_assert_uint_eq(mt_live_allocate(live, 50 * MT_MIB, 0, 0, &refusal), 0);
    ck_assert(refusal.out_of_memory);
    ck_assert_str_eq(
        refusal.text,
        "CUDA out of memory. Tried to allocate 50.00 MiB. GPU 0 has a total capacity of 100.00 MiB "
        "of which 40.00 MiB is free. Of the allocated memory 60.00 MiB is allocated by PyTorch, "
        "and 0 bytes is reserved by PyTorch but unallocated. memtool: not enough memory: live "
        "blocks take 60.00 MiB of 100.00 MiB, and 50.00 MiB more was asked for.");
    fake_cuda_take(0, 35 * MT_MIB);
    ck_assert_uint_eq(mt_live_allocate(live, 20 * MT_MIB, 0, 0, &refusal), 0);
    ck_assert_ptr_nonnull(
        strstr(refusal.text, "memtool: 35.00 MiB of the device is taken outside"));
    give(a);
    ck_assert_int_eq(mt_live_empty_cache(live, &err), MT_OK);
    fake_cuda_take(0, (uint64_t)0 - 35 * MT_MIB);
    uint64_t blocks[5];
    for (int i = 0; i < 5; i++) {
        blocks[i] = take(20 * MT_MIB - (i % 2 ? 9 * MT_MIB : 12 * MT_MIB), 0, 0);
    }
    for (int i = 0; i < 5; i += 2) {
        give(blocks[i]);
    }
    ck_assert_int_eq(mt_live_set_fraction(live, 0.5, 0, &err), MT_OK);
    ck_assert_uint_eq(mt_live_allocate(live, 60 * MT_MIB, 0, 0, &refusal), 0);
    ck_assert_ptr_nonnull(strstr(refusal.text, "50.00 MiB allowed; "));
    ck_assert_ptr_nonnull(strstr(refusal.text, "refused by this process's limit of 50.00 MiB"));
    ck_assert_int_eq(mt_live_set_fraction(live, 1.5, 0, &err), MT_USAGE);
    ck_assert_uint_eq(mt_live_allocate(live, (uint64_t)1 << 61, 0, 0, &refusal), 0);
    ck_assert_str_eq(refusal.text, "CUDA out of memory. Tried to allocate more than 1EB memory.");
    close_live();
}
END_TEST

START_TEST(fragmentation_is_named)
{
    enum { PIECES = 10 };
    uint64_t blocks[PIECES];
    open_live("", 1, 100 * MT_MIB);
    for (int i = 0; i < PIECES; i++) {
        blocks[i] = take(9 * MT_MIB + MT_MIB / 2, 0, 0); /* two to a segment of 20 MiB */
    }
    for (int i = 0; i < PIECES; i += 2) {
        give(blocks[i]);
    }
    ck_assert_uint_eq(mt_live_allocate(live, 30 * MT_MIB, 0, 0, &refusal), 0);
    ck_assert_ptr_nonnull(strstr(refusal.text,
                                 "memtool: fragmentation: 47.50 MiB is held and unused, but its "
                                 "largest free block is 9.50 MiB. Try "
                                 "MEMTOOL_ALLOC_CONF=expandable_segments:True."));
    close_live();
}
END_TEST

START_TEST(bad_settings)
{
    const struct mt_live_options o = {.conf = "expandable_segments:yes"};
    fake_cuda_reset(1, MT_MIB);
    ck_assert_int_eq(mt_live_new(&o, &live, &err), MT_USAGE);
    ck_assert_ptr_nonnull(strstr(err.text, "'yes'"));
}
END_TEST

/* ---- captures ---- */

START_TEST(a_capture_has_memory_of_its_own)
{
    void *const stream = &live;
    const uint64_t s = (uintptr_t)stream;
    open_live("", 1, 1024 * MT_MIB);
    uint64_t before = take(4096, 0, s);
    give(before);
    fake_cuda_capture(stream, true);
    uint64_t captured = take(4096, 0, s);
    ck_assert_uint_ne(captured, before);
    uint64_t elsewhere = take(4096, 0, 0);
    give(captured);
    ck_assert_uint_eq(take(4096, 0, s), captured); /* reused within the capture */
    give(captured);
    fake_cuda_capture(stream, false);
    ck_assert_uint_eq(take(4096, 0, s), before); /* never outside of it */
    ck_assert_uint_ne(take(4096, 0, s), captured);
    fake_cuda_capture(stream, true); /* another capture, another pool */
    uint64_t again = take(4096, 0, s);
    ck_assert_uint_ne(again, captured);
    fake_cuda_capture(stream, false);
    give(elsewhere);
    close_live();
}
END_TEST

START_TEST(announced_pools)
{
    void *const stream = &live;
    const uint64_t s = (uintptr_t)stream;
    const struct mt_alloc_pool_id graph = {3, 0}, pool = {0, 5};
    open_live("", 1, 1024 * MT_MIB);
    live->told_of_scopes = true;
    give(take(4096, 0, s));
    unsigned long asked = fake_cuda_calls("cuStreamGetCaptureInfo_v2");
    give(take(4096, 0, s));
    ck_assert_uint_eq(fake_cuda_calls("cuStreamGetCaptureInfo_v2"), asked);
    ck_assert_int_eq(mt_live_scope_begin(live, 0, graph, &err), MT_OK);
    fake_cuda_capture(stream, true);
    uint64_t captured = take(4096, 0, s);
    fake_cuda_capture(stream, false);
    mt_live_scope_end(live, 0, graph);
    ck_assert_int_eq(stat_of(0, MT_STAT_SEGMENT), 2);
    give(captured);
    ck_assert_uint_ne(take(4096, 0, s), captured);
    mt_live_pool_release(live, 0, graph);
    ck_assert_int_eq(mt_live_empty_cache(live, &err), MT_OK);
    ck_assert_int_eq(stat_of(0, MT_STAT_SEGMENT), 1); /* the graph's went with its owner */
    ck_assert_int_eq(mt_live_scope_begin(live, 0, pool, &err), MT_OK);
    uint64_t pooled = take(4096, 0, 0);
    mt_live_scope_end(live, 0, pool);
    give(pooled);
    ck_assert_uint_ne(take(4096, 0, 0), pooled);
    ck_assert_int_eq(mt_live_scope_begin(live, 9, pool, &err), MT_USAGE);
    close_live();
}
END_TEST

START_TEST(too_many_captures)
{
    open_live("", 1, 1024 * MT_MIB);
    for (int i = 1; i <= MT_LIVE_SCOPES_MAX; i++) {
        const struct mt_alloc_pool_id id = {i, 0};
        ck_assert_int_eq(mt_live_scope_begin(live, 0, id, &err), MT_OK);
    }
    const struct mt_alloc_pool_id one_more = {99, 0};
    ck_assert_int_eq(mt_live_scope_begin(live, 0, one_more, &err), MT_LIMIT);
    close_live();
}
END_TEST

/* ---- every driver call fails once ---- */

/* A short life with everything in it. Whatever is refused is left out. */
static void short_life(void)
{
    enum { N = 12 };
    static const uint64_t sizes[N] = {1,           512,          MT_MIB,      3 * MT_MIB,
                                      5 * MT_MIB,  11 * MT_MIB,  40 * MT_MIB, 100,
                                      30 * MT_MIB, 200 * MT_MIB, 2 * MT_MIB,  90 * MT_MIB};
    uint64_t blocks[N];
    for (int i = 0; i < N; i++) {
        blocks[i] = mt_live_allocate(live, sizes[i], 0, i % 3 == 2 ? 0x70 : 0, &refusal);
        if (blocks[i] && i % 4 == 1) {
            (void)!mt_live_record_stream(live, blocks[i], 0x90, &err);
        }
        if (i == 6 && blocks[1]) {
            (void)!mt_live_release(live, blocks[1], 0, &err);
            blocks[1] = 0;
        }
    }
    for (int i = 0; i < N; i += 2) {
        if (blocks[i]) {
            (void)!mt_live_release(live, blocks[i], 0, &err);
        }
    }
    (void)!mt_live_empty_cache(live, &err);
    for (int i = 1; i < N; i += 2) {
        if (blocks[i]) {
            (void)!mt_live_release(live, blocks[i], 0, &err);
        }
    }
}

static void fail_each_call(const char *conf, int code)
{
    const struct mt_live_options o = {.conf = conf};
    bool failed = true;
    unsigned long n = 1;
    for (; failed; n++) {
        fake_cuda_reset(1, 256 * MT_MIB);
        fake_cuda_fail(NULL, n, code);
        live = NULL;
        if (mt_live_new(&o, &live, &err) != MT_OK) {
            ck_assert(fake_cuda_failed());
            ck_assert_uint_gt(strlen(err.text), 0);
            continue;
        }
        short_life();
        failed = fake_cuda_failed();
        fake_cuda_fail(NULL, 0, 0);
        ck_assert_msg(mt_live_check(live, &err) == MT_OK, "call %lu: %s", n, err.text);
        /* the allocator goes on as if nothing had been */
        uint64_t after = take(10 * MT_MIB, 0, 0);
        give(after);
        ck_assert_msg(mt_live_check(live, &err) == MT_OK, "call %lu: %s", n, err.text);
        ck_assert_msg(fake_cuda_complaint()[0] == '\0', "call %lu: %s", n, fake_cuda_complaint());
        mt_live_free(live);
        if (!failed) {
            ck_assert_uint_eq(fake_cuda_open_things(), 0);
        }
    }
    ck_assert_uint_gt(n, 50);
}

START_TEST(every_call_fails_once)
{
    fail_each_call("", MT_CUDA_OUT_OF_MEMORY);
    fail_each_call("", MT_CUDA_UNKNOWN);
    fail_each_call("max_split_size_mb:32", MT_CUDA_OUT_OF_MEMORY);
}
END_TEST

START_TEST(every_call_fails_once_expandable)
{
    fail_each_call("expandable_segments:True", MT_CUDA_OUT_OF_MEMORY);
    fail_each_call("expandable_segments:True", MT_CUDA_UNKNOWN);
}
END_TEST

/* ---- threads ---- */

enum { THREADS = 24, STEPS = 1000, SLOTS = 40 };

static _Atomic int wrong, working;
static struct mt_writer writer;
static struct mt_dumper dumper;

/* MEMTOOL_TEST_STEPS of the environment: more of them, for a long run. */
static int steps(void)
{
    const char *text = getenv("MEMTOOL_TEST_STEPS");
    return text ? (int)strtol(text, NULL, 10) : STEPS;
}

static void on_signal(int number)
{
    mt_dumper_on_signal(&dumper, number);
}

static enum mt_status dump_asked(void *ctx, struct mt_error *e)
{
    const struct mt_write_request r = {.why = MT_SNAPSHOT_SIGNAL};
    return mt_writer_ask(ctx, &r, NULL, e);
}

/* Both threads stay to the end of the process, and the allocator with them. */
static void start_snapshots(void)
{
    writer.write = mt_live_write;
    writer.ctx = live;
    writer.dump_lock = &live->dump_lock;
    writer.limit_s = 600;
    dumper.dump = dump_asked;
    dumper.ctx = &writer;
    ck_assert_int_eq(mt_writer_start(&writer, &err), MT_OK);
    ck_assert_int_eq(mt_dumper_start(&dumper, &err), MT_OK);
    ck_assert(mt_dumper_catch(SIGUSR2, on_signal));
}

/* When the signals that came are answered, one more that is done when this returns. */
static void last_snapshot(void)
{
    const struct timespec moment = {.tv_nsec = 50000000};
    int waiting = 1;
    while (waiting > 0 || atomic_load(&writer.busy)) {
        nanosleep(&moment, NULL);
        ck_assert_int_eq(sem_getvalue(&dumper.wake, &waiting), 0);
    }
    const struct mt_write_request r = {.why = MT_SNAPSHOT_OOM};
    char path[MT_RECORD_PATH_MAX];
    ck_assert_msg(mt_writer_ask(&writer, &r, path, &err) == MT_OK, "%s", err.text);
    ck_assert_int_eq(unlink(path), 0);
}

static void *churn(void *ctx)
{
    uint64_t state = (uintptr_t)ctx * 0x9e3779b97f4a7c15u + 1;
    uint64_t slots[SLOTS] = {0};
    struct mt_live_refusal no;
    struct mt_error e;
    for (int i = 0, n = steps(); i < n; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint64_t *slot = &slots[state % SLOTS];
        if (*slot) {
            wrong += mt_live_release(live, *slot, (int)(state >> 40) % 2, &e) != MT_OK;
            *slot = 0;
        } else {
            uint64_t stream = (state >> 30) % 3 ? 0 : (state >> 33) % 4;
            *slot = mt_live_allocate(live, 1 + (state >> 20) % (2 * MT_MIB), (int)(state >> 50) % 2,
                                     stream, &no);
            wrong += *slot == 0;
            if (i % 7 == 0) {
                wrong += mt_live_record_stream(live, *slot, 0x55, &e) != MT_OK;
            }
        }
        if (i % 500 == 499) {
            mt_live_mark(live, 0, "part", i % 1000 == 999);
        }
    }
    for (int i = 0; i < SLOTS; i++) {
        wrong += slots[i] && mt_live_release(live, slots[i], 0, &e) != MT_OK;
    }
    working--;
    return NULL;
}

/* Those that signals asked for: the first has the plain name, the others a number. */
static void remove_signalled(const char *path)
{
    char name[MT_RECORD_PATH_MAX + 32];
    unsigned n = live->names.written[MT_SNAPSHOT_SIGNAL];
    ck_assert_int_gt((int)n, 0);
    (void)unlink(path);
    for (unsigned i = 0; i <= n; i++) {
        snprintf(name, sizeof name, i < 2 ? "%s.signal" : "%s.signal.%u", path, i);
        (void)unlink(name);
    }
}

START_TEST(many_threads)
{
    pthread_t threads[THREADS];
    struct mt_record_settings settings;
    char path[MT_RECORD_PATH_MAX + 16];
    unsigned long dumps = 0;
    open_live("", 2, 65536 * MT_MIB);
    mt_record_settings_default(&settings);
    settings.max_entries = 5000;
    settings.max_frames = 4;
    snprintf(settings.path, sizeof settings.path, "/tmp/memtool-test-%ld", (long)getpid());
    mt_live_record(live, &settings);
    start_snapshots();
    wrong = 0;
    working = THREADS;
    snprintf(path, sizeof path, "%s.called", settings.path);
    for (uintptr_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)), 0);
    }
    for (; working > 0 || dumps < 5; dumps++) {
        ck_assert_msg(mt_live_dump(live, path, NULL, 0, &err) == MT_OK, "%s", err.text);
        mt_live_record(live, dumps % 2 ? &settings : NULL);
        ck_assert_int_eq(mt_live_empty_cache(live, &err), MT_OK);
        ck_assert_msg(mt_live_check(live, &err) == MT_OK, "%s", err.text);
        ck_assert_int_eq(kill(getpid(), SIGUSR2), 0);
    }
    mt_live_record(live, &settings);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    last_snapshot();
    (void)unlink(path);
    remove_signalled(settings.path);
    ck_assert_int_eq(wrong, 0);
    ck_assert_int_eq(stat_of(0, MT_STAT_ALLOCATION), 0);
    ck_assert_int_eq(stat_of(1, MT_STAT_ALLOCATION), 0);
    printf("threads: %d of %d operations, %lu snapshots by call, %u by signal\n", THREADS, steps(),
           dumps, live->names.written[MT_SNAPSHOT_SIGNAL]);
    ck_assert_msg(mt_live_check(live, &err) == MT_OK, "%s", err.text);
    ck_assert_str_eq(fake_cuda_complaint(), "");
}
END_TEST

UNIT_MAIN("live allocator", requests_come_from_the_cache, other_streams_are_waited_for,
          streams_without_events_are_waited_for, expandable_segments_grow_in_place,
          refusals_say_why, fragmentation_is_named, bad_settings, a_capture_has_memory_of_its_own,
          announced_pools, too_many_captures, every_call_fails_once,
          every_call_fails_once_expandable, many_threads)
