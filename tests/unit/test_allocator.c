/* SPDX-License-Identifier: MIT */
/*
 * The policy, by the vectors of which the answers are known from PyTorch, and by long random runs
 * in which every operation is followed by the proof of the invariants.
 */
#include <stdio.h>
#include <stdlib.h>

#include "allocator/core/allocator.h"

#include "allocator/core/alloc_core.h"
#include "unit.h"

#define GIB (1024 * MT_MIB)

static struct mt_device_sim *sim;
static struct mt_alloc *a;
static struct mt_error err;
static char log_text[4096];

static void on_event(void *ctx, const struct mt_alloc_event *e)
{
    static const char *const words[] = {
        "alloc", "free_requested", "free_completed", "segment", "release", "map", "unmap", "oom"};
    (void)ctx;
    size_t n = strlen(log_text);
    snprintf(log_text + n, sizeof log_text - n, "%s %llu;", words[e->kind],
             (unsigned long long)e->size);
}

static void open_release(mt_torch_release release, const char *conf, uint64_t capacity,
                         uint64_t allowed)
{
    struct mt_conf parsed;
    mt_conf_parse(mt_str_from(conf), release, &parsed);
    ck_assert_msg(parsed.valid, "%s", parsed.error);
    sim =
        mt_device_sim_new(&(struct mt_device_sim_options){.total = 80 * GIB, .capacity = capacity});
    struct mt_alloc_options o = {.settings = parsed.settings,
                                 .release = release,
                                 .device = mt_device_sim_device(sim),
                                 .observer = {on_event, NULL},
                                 .has_allowed = allowed != 0,
                                 .allowed = allowed,
                                 .find_by_addr = true};
    ck_assert_int_eq(mt_alloc_new(&o, &a, &err), MT_OK);
    log_text[0] = '\0';
}

static void open_with(const char *conf, uint64_t capacity, uint64_t allowed)
{
    open_release(211, conf, capacity, allowed);
}

static void close_all(void)
{
    ck_assert_int_eq(mt_alloc_check(a, &err), MT_OK);
    mt_alloc_delete(a);
    ck_assert_uint_eq(mt_device_sim_used(sim), 0);
    ck_assert_uint_eq(mt_device_sim_events(sim), 0);
    mt_device_sim_free(sim);
}

static mt_alloc_block take_on(uint64_t size, uint64_t stream)
{
    mt_alloc_block b = {0};
    struct mt_alloc_request r = {.size = size, .stream = stream};
    enum mt_status status = mt_alloc_allocate(a, &r, NULL, &b, &err);
    ck_assert_msg(status == MT_OK || status == MT_DEVICE_OOM, "%s", err.text);
    ck_assert_msg(mt_alloc_check(a, &err) == MT_OK, "%s", err.text);
    return b;
}

static mt_alloc_block take(uint64_t size)
{
    return take_on(size, 0);
}

static void give(mt_alloc_block b)
{
    ck_assert_int_eq(mt_alloc_free(a, b, 0, &err), MT_OK);
    ck_assert_msg(mt_alloc_check(a, &err) == MT_OK, "%s", err.text);
}

static void logged(const char *text)
{
    ck_assert_str_eq(log_text, text);
    log_text[0] = '\0';
}

static uint64_t size_of(mt_alloc_block b)
{
    struct mt_alloc_block_info info;
    mt_alloc_block_get(a, b, &info);
    return info.size;
}

static int64_t current(enum mt_alloc_stat_id id)
{
    return mt_alloc_stat(a, id, MT_SLOT_ALL).current;
}

/* Sizes in the order that the indexes of blocks had as priorities when these were not seeded: each
 * tree was a list then, and a file of 10 MB took minutes. */
struct rank {
    uint32_t index, priority;
};

static int by_priority(const void *x, const void *y)
{
    uint32_t p = ((const struct rank *)x)->priority, q = ((const struct rank *)y)->priority;
    return (p > q) - (p < q);
}

static unsigned depth_of(uint32_t i)
{
    unsigned left = i ? depth_of(block_at(a, i)->left) : 0;
    unsigned right = i ? depth_of(block_at(a, i)->right) : 0;
    return i == 0 ? 0 : 1 + (left > right ? left : right);
}

START_TEST(sizes_that_aim_at_the_tree)
{
    enum { N = 2048 };
    static struct rank ranks[N];
    static uint64_t sizes[N];
    static mt_alloc_block blocks[N];
    unsigned deepest = 0;
    sim = mt_device_sim_new(&(struct mt_device_sim_options){.total = (uint64_t)1 << 60});
    struct mt_alloc_options o = {.device = mt_device_sim_device(sim)};
    mt_alloc_settings_default(&o.settings);
    ck_assert_int_eq(mt_alloc_new(&o, &a, &err), MT_OK);
    for (uint32_t i = 0; i < N; i++) {
        uint64_t x = (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u;
        ranks[i] = (struct rank){i, (uint32_t)(x >> 32) ^ (uint32_t)(x >> 11)};
    }
    qsort(ranks, N, sizeof *ranks, by_priority);
    for (uint32_t i = 0; i < N; i++) {
        sizes[ranks[i].index] = ((uint64_t)1 << 36) + 2 * MT_MIB * i;
    }
    for (uint32_t i = 0; i < N; i++) {
        struct mt_alloc_request r = {.size = sizes[i]};
        ck_assert_int_eq(mt_alloc_allocate(a, &r, NULL, &blocks[i], &err), MT_OK);
    }
    for (uint32_t i = 0; i < N; i++) {
        ck_assert_int_eq(mt_alloc_free(a, blocks[i], 0, &err), MT_OK);
    }
    for (size_t b = 1; b < a->bins.n; b++) {
        for (unsigned c = 0; c < CLASS_COUNT; c++) {
            unsigned depth = depth_of(a->bins.v[b]->roots[c]);
            deepest = depth > deepest ? depth : deepest;
        }
    }
    ck_assert_msg(deepest < 100, "%u nodes deep", deepest);
    close_all();
}
END_TEST

START_TEST(small_and_large_boundaries)
{
    open_with("", 0, 0);
    mt_alloc_block b = take(1);
    logged("segment 2097152;alloc 1;");
    ck_assert_uint_eq(size_of(b), 512);
    ck_assert_int_eq(current(MT_STAT_INACTIVE_SPLIT), 1);
    ck_assert_int_eq(current(MT_STAT_INACTIVE_SPLIT_BYTES), 2096640);
    mt_alloc_block c = take(MT_MIB);
    logged("alloc 1048576;");
    mt_alloc_block d = take(MT_MIB + 1);
    logged("segment 20971520;alloc 1048577;");
    ck_assert_uint_eq(size_of(d), 1049088);
    give(b);
    give(c);
    ck_assert_int_eq(current(MT_STAT_INACTIVE_SPLIT), 1);
    ck_assert_int_eq(current(MT_STAT_INACTIVE_SPLIT_BYTES), 19922432);
    close_all();
}
END_TEST

START_TEST(own_segments)
{
    open_with("", 0, 0);
    take(10485760);
    logged("segment 10485760;alloc 10485760;");
    ck_assert_int_eq(current(MT_STAT_INACTIVE_SPLIT), 0);
    take(10485761);
    logged("segment 12582912;alloc 10485761;");
    ck_assert_int_eq(current(MT_STAT_INACTIVE_SPLIT_BYTES), 2096640);
    /* A remainder of exactly 1 MiB is not split off. */
    mt_alloc_block b = take(11534336);
    logged("segment 12582912;alloc 11534336;");
    ck_assert_uint_eq(size_of(b), 12582912);
    close_all();
}
END_TEST

START_TEST(best_fit_reuses_exactly)
{
    open_with("", 0, 0);
    mt_alloc_block b = take(600);
    take(600);
    struct mt_alloc_block_info first, again;
    mt_alloc_block_get(a, b, &first);
    give(b);
    mt_alloc_block_get(a, take(513), &again);
    ck_assert_uint_eq(again.addr, first.addr);
    ck_assert_uint_eq(again.size, 1024);
    close_all();
}
END_TEST

START_TEST(max_split_size_keeps_large_blocks_whole)
{
    open_with("max_split_size_mb:64", 0, 0);
    give(take(128 * MT_MIB));
    log_text[0] = '\0';
    give(take(32 * MT_MIB));
    logged("segment 33554432;alloc 33554432;free_requested 33554432;free_completed 33554432;");
    mt_alloc_block b = take(110 * MT_MIB);
    ck_assert_uint_eq(size_of(b), 128 * MT_MIB);
    ck_assert_int_eq(mt_alloc_stats(a).oversize_allocations.current, 1);
    give(b);
    log_text[0] = '\0';
    /* 128 = 108 + 20: refused. */
    take(108 * MT_MIB);
    logged("segment 113246208;alloc 113246208;");
    close_all();
}
END_TEST

START_TEST(expandable_maps_and_unmaps)
{
    open_with("expandable_segments:True", 0, 0);
    mt_alloc_block b = take(25 * MT_MIB);
    logged("map 41943040;alloc 26214400;");
    ck_assert_int_eq(current(MT_STAT_SEGMENT), 0);
    ck_assert_int_eq(current(MT_STAT_RESERVED_BYTES), 40 * MT_MIB);
    take(15 * MT_MIB);
    logged("alloc 15728640;");
    give(b);
    log_text[0] = '\0';
    ck_assert_int_eq(mt_alloc_empty_cache(a, &err), MT_OK);
    logged("unmap 20971520;");
    ck_assert_int_eq(mt_alloc_check(a, &err), MT_OK);
    take(30 * MT_MIB);
    logged("map 41943040;alloc 31457280;");
    take(3);
    logged("map 2097152;alloc 3;");
    close_all();
}
END_TEST

START_TEST(limit_releases_then_refuses)
{
    open_with("", 0, 40 * MT_MIB);
    give(take(20 * MT_MIB));
    log_text[0] = '\0';
    mt_alloc_block b = take(30 * MT_MIB);
    logged("release 20971520;segment 31457280;alloc 31457280;");
    ck_assert_uint_eq(mt_alloc_stats(a).num_alloc_retries, 1);
    ck_assert_uint_eq(mt_alloc_stats(a).num_sync_all_streams, 1);
    ck_assert_uint_eq(take(12 * MT_MIB).i, 0);
    logged("oom 12582912;");
    ck_assert(mt_alloc_last_oom(a)->by_limit);
    ck_assert_uint_eq(mt_alloc_stats(a).num_ooms, 1);
    take(10 * MT_MIB); /* reaching the limit is allowed */
    logged("segment 10485760;alloc 10485760;");
    give(b);
    close_all();
}
END_TEST

START_TEST(garbage_collection_frees_the_old)
{
    open_with("garbage_collection_threshold:0.5", 0, 130 * MT_MIB);
    mt_alloc_block old = take(20 * MT_MIB), young = take(30 * MT_MIB);
    take(3 * MT_MIB); /* the rest of its segment serves what follows */
    give(old);
    give(take(3 * MT_MIB));
    give(take(3 * MT_MIB));
    give(young);
    log_text[0] = '\0';
    take(40 * MT_MIB);
    logged("release 20971520;segment 41943040;alloc 41943040;");
    ck_assert_uint_eq(mt_alloc_stats(a).num_alloc_retries, 0);
    ck_assert_uint_eq(mt_alloc_stats(a).garbage_collections, 1);
    close_all();
}
END_TEST

START_TEST(streams_do_not_share)
{
    open_with("", 0, 0);
    mt_alloc_block b = take_on(5 * MT_MIB, 7);
    mt_device_sim_hold(sim, true);
    ck_assert_int_eq(mt_alloc_record_stream(a, b, 9, &err), MT_OK);
    ck_assert_int_eq(mt_alloc_record_stream(a, b, 7, &err), MT_OK);
    give(b);
    log_text[0] = '\0';
    take_on(16 * MT_MIB, 7); /* the freed one still waits */
    logged("segment 16777216;alloc 16777216;");
    mt_device_sim_hold(sim, false);
    take_on(17 * MT_MIB, 7);
    logged("free_completed 5242880;alloc 17825792;");
    take_on(5 * MT_MIB, 8);
    logged("segment 20971520;alloc 5242880;");
    close_all();
}
END_TEST

/* A device of which the newest event is never done. */
static const struct mt_device_ops *sim_ops;
static uint64_t newest_event;

static enum mt_status record_newest(void *ctx, uint64_t stream, uint64_t *event, struct mt_error *e)
{
    enum mt_status status = sim_ops->event_record(ctx, stream, event, e);
    newest_event = *event;
    return status;
}

static enum mt_status done_but_newest(void *ctx, uint64_t event, bool *done, struct mt_error *e)
{
    enum mt_status status = sim_ops->event_done(ctx, event, done, e);
    *done = *done && event != newest_event;
    return status;
}

/* Where something waits at every moment, what is done takes no room for ever. */
START_TEST(waiting_frees_are_bounded)
{
    open_with("", 0, 0);
    sim_ops = a->device.ops;
    struct mt_device_ops ops = *sim_ops;
    ops.event_record = record_newest;
    ops.event_done = done_but_newest;
    a->device.ops = &ops;
    for (int i = 0; i < 10000; i++) {
        mt_alloc_block b = take_on(5 * MT_MIB, 7);
        ck_assert_int_eq(mt_alloc_record_stream(a, b, 9, &err), MT_OK);
        give(b);
        log_text[0] = '\0';
    }
    ck_assert_uint_le(a->n_waiting, 2);
    ck_assert_uint_le(a->queues.v[0].entries.n, 256);
    a->device.ops = sim_ops;
    close_all();
}
END_TEST

START_TEST(private_pools)
{
    struct mt_alloc_pool_id id = {1, 0};
    open_with("", 0, 0);
    give(take(4 * MT_MIB));
    log_text[0] = '\0';
    ck_assert_int_eq(mt_alloc_pool_begin(a, id, true, NULL, NULL, &err), MT_OK);
    mt_alloc_block b = take(4 * MT_MIB);
    logged("segment 20971520;alloc 4194304;");
    mt_alloc_pool_end(a, id);
    give(b);
    log_text[0] = '\0';
    ck_assert_int_eq(mt_alloc_empty_cache(a, &err), MT_OK);
    logged("release 20971520;"); /* that of the default pool */
    mt_alloc_pool_release(a, id);
    ck_assert_int_eq(mt_alloc_empty_cache(a, &err), MT_OK);
    logged("release 20971520;");
    ck_assert_int_eq(current(MT_STAT_RESERVED_BYTES), 0);
    close_all();
}
END_TEST

/* The same request before and after a release that changed what becomes of it. */
START_TEST(releases_differ)
{
    open_release(203, "roundup_power2_divisions:1", 0, 0);
    ck_assert_uint_eq(size_of(take(5000000)), 5000000);
    close_all();
    open_release(204, "roundup_power2_divisions:1", 0, 0);
    ck_assert_uint_eq(size_of(take(5000000)), 5000192);
    close_all();
}
END_TEST

/* ---- random runs ---- */

static uint64_t seed;

static uint64_t random_below(uint64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

static uint64_t random_size(void)
{
    static const uint64_t classes[] = {2000, 300000, 3 * MT_MIB, 12 * MT_MIB, 90 * MT_MIB};
    return 1 + random_below(classes[random_below(MT_COUNT(classes))]);
}

enum { LIVE = 200 };
static mt_alloc_block live[LIVE];

static void random_step(void)
{
    size_t i = (size_t)random_below(LIVE);
    if (live[i].i) {
        if (random_below(10) == 0) {
            ck_assert_int_eq(mt_alloc_record_stream(a, live[i], random_below(4), &err), MT_OK);
        }
        give(live[i]);
        live[i].i = 0;
    } else {
        live[i] = take_on(random_size(), random_below(3));
    }
    if (random_below(40) == 0) {
        mt_device_sim_hold(sim, random_below(2));
    }
    if (random_below(300) == 0) {
        ck_assert_int_eq(mt_alloc_empty_cache(a, &err), MT_OK);
    }
}

static const char *const CONFS[] = {
    "",
    "expandable_segments:True",
    "max_split_size_mb:32",
    "garbage_collection_threshold:0.4",
    "max_split_size_mb:25,max_non_split_rounding_mb:40,garbage_collection_threshold:0.7",
    "roundup_power2_divisions:[1:4,64:8,>:2]",
    "expandable_segments:True,max_split_size_mb:32,garbage_collection_threshold:0.5",
};

START_TEST(random_runs)
{
    for (int bounded = 0; bounded < 3; bounded++) {
        open_with(CONFS[_i], bounded == 2 ? 600 * MT_MIB : 0, bounded == 1 ? 500 * MT_MIB : 0);
        seed = (uint64_t)_i * 3 + (uint64_t)bounded + 1;
        memset(live, 0, sizeof live);
        for (int step = 0; step < 3000; step++) {
            log_text[0] = '\0';
            random_step();
        }
        close_all();
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("allocator");
    tcase_add_test(t, sizes_that_aim_at_the_tree);
    tcase_add_test(t, small_and_large_boundaries);
    tcase_add_test(t, own_segments);
    tcase_add_test(t, best_fit_reuses_exactly);
    tcase_add_test(t, max_split_size_keeps_large_blocks_whole);
    tcase_add_test(t, expandable_maps_and_unmaps);
    tcase_add_test(t, limit_releases_then_refuses);
    tcase_add_test(t, garbage_collection_frees_the_old);
    tcase_add_test(t, streams_do_not_share);
    tcase_add_test(t, waiting_frees_are_bounded);
    tcase_add_test(t, private_pools);
    tcase_add_test(t, releases_differ);
    tcase_add_loop_test(t, random_runs, 0, (int)MT_COUNT(CONFS));
    tcase_set_timeout(t, 60);
    return unit_run_cases("allocator", t);
}
