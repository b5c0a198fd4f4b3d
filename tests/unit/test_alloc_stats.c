/* SPDX-License-Identifier: MIT */
/*
 * The counters, which the allocator derives from sums, against a counting as PyTorch does it: each
 * operation changes a counter by one net amount, up or down, and the four numbers of each counter
 * are kept one by one. The current values are proven by mt_alloc_check's recount.
 */
#include <check.h>
#include <string.h>

#include "allocator/core/allocator.h"

#include "unit.h"

enum { LIVE = 40, STEPS = 800 };

static struct mt_device_sim *sim;
static struct mt_alloc *a;
static struct mt_error err;
static struct mt_alloc_stats counted;
static mt_alloc_block live[LIVE];
static bool pending[LIVE];
static uint64_t seed;
static bool find_by_addr;

static uint64_t random_below(uint64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

/* Restored blocks are found by their handles alone. */
static void open_with(const char *text, bool by_addr)
{
    struct mt_conf conf;
    mt_conf_parse(mt_str_from(text), 211, &conf);
    ck_assert(conf.valid);
    sim = mt_device_sim_new(&(struct mt_device_sim_options){.total = (uint64_t)80 << 30});
    const struct mt_alloc_options o = {
        .settings = conf.settings, .device = mt_device_sim_device(sim), .find_by_addr = by_addr};
    find_by_addr = by_addr;
    ck_assert_int_eq(mt_alloc_new(&o, &a, &err), MT_OK);
    memset(&counted, 0, sizeof counted);
    memset(live, 0, sizeof live);
    memset(pending, 0, sizeof pending);
}

static void close_all(void)
{
    mt_alloc_delete(a);
    mt_device_sim_free(sim);
}

/* Counts what the last operation changed, then compares. */
static void count(enum mt_alloc_stat_id id, enum mt_alloc_stat_slot slot)
{
    const struct mt_alloc_stat is = mt_alloc_stat(a, id, slot);
    struct mt_alloc_stat *s = &counted.stat[id][slot];
    int64_t change = is.current - s->current;
    s->current = is.current;
    s->peak = s->current > s->peak ? s->current : s->peak;
    *(change > 0 ? &s->allocated : &s->freed) += change > 0 ? change : -change;
    ck_assert_int_eq(is.peak, s->peak);
    ck_assert_int_eq(is.allocated, s->allocated);
    ck_assert_int_eq(is.freed, s->freed);
}

static void count_all(void)
{
    ck_assert_msg(mt_alloc_check(a, &err) == MT_OK, "%s", err.text);
    for (enum mt_alloc_stat_id id = 0; id < MT_STAT_COUNT; id++) {
        for (enum mt_alloc_stat_slot slot = 0; slot < MT_SLOT_COUNT; slot++) {
            count(id, slot);
        }
    }
}

static uint64_t random_size(void)
{
    static const uint64_t classes[] = {512, 4096, MT_MIB, 3 * MT_MIB, 30 * MT_MIB};
    return 1 + random_below(classes[random_below(MT_COUNT(classes))]);
}

/* Half by the short way, as the live allocator does. */
static mt_alloc_block take(void)
{
    const struct mt_alloc_request r = {.size = random_size(), .stream = random_below(2)};
    mt_alloc_block block = {0};
    uint64_t addr = random_below(2) ? mt_alloc_serve(a, r.size, r.stream, 0) : 0;
    if (addr) {
        return mt_alloc_find(a, addr);
    }
    ck_assert_int_eq(mt_alloc_allocate(a, &r, NULL, &block, &err), MT_OK);
    return block;
}

static void give(size_t i)
{
    struct mt_alloc_block_info info;
    mt_alloc_block_get(a, live[i], &info);
    bool by_hand = random_below(4) == 0;
    if (pending[i]) {
        mt_alloc_free_complete(a, live[i]);
    } else if (by_hand) {
        mt_alloc_free_request(a, live[i], 0);
    } else if (find_by_addr) {
        ck_assert(mt_alloc_free_at(a, info.addr, 0));
        ck_assert(!mt_alloc_free_at(a, info.addr, 0));
    } else {
        ck_assert_int_eq(mt_alloc_free(a, live[i], 0, &err), MT_OK);
    }
    bool waits = by_hand && !pending[i];
    pending[i] = waits;
    live[i].i = waits ? live[i].i : 0;
}

static void reset(bool peaks)
{
    for (size_t id = 0; id < MT_STAT_COUNT; id++) {
        for (size_t slot = 0; slot < MT_SLOT_COUNT; slot++) {
            struct mt_alloc_stat *s = &counted.stat[id][slot];
            s->peak = peaks ? s->current : s->peak;
            s->allocated = peaks ? s->allocated : 0;
            s->freed = peaks ? s->freed : 0;
        }
    }
    if (peaks) {
        mt_alloc_reset_peak(a);
    } else {
        mt_alloc_reset_accumulated(a);
    }
}

static void random_step(void)
{
    size_t i = (size_t)random_below(LIVE);
    if (random_below(100) == 0) {
        reset(random_below(2));
    } else if (live[i].i) {
        give(i);
    } else {
        live[i] = take();
    }
    count_all();
}

/* A segment as a recording that begins in the middle finds it: in use, pending, free. */
static void restore(bool small, uint64_t addr)
{
    const uint64_t size = small ? 2 * MT_MIB : 20 * MT_MIB;
    const struct mt_alloc_restore_block blocks[] = {
        {.size = size / 2, .requested = size / 2 - 7, .mapped = true, .state = MT_ALLOC_IN_USE},
        {.size = size / 4, .requested = size / 4 - 5, .mapped = true, .state = MT_ALLOC_PENDING},
        {.size = size / 4, .mapped = true, .state = MT_ALLOC_FREE}};
    const struct mt_alloc_restore_segment s = {
        .addr = addr, .size = size, .small = small, .blocks = blocks, .n_blocks = MT_COUNT(blocks)};
    mt_alloc_block handles[MT_COUNT(blocks)];
    ck_assert_int_eq(mt_alloc_restore(a, &s, handles, &err), MT_OK);
    live[small] = handles[0];
    live[2 + small] = handles[1];
    pending[2 + small] = true;
    count_all();
}

static const char *const CONFS[] = {"", "expandable_segments:True", "max_split_size_mb:21"};

START_TEST(counts_as_pytorch_does)
{
    for (size_t i = 0; i < MT_COUNT(CONFS); i++) {
        open_with(CONFS[i], true);
        seed = i + 1;
        for (int step = 0; step < STEPS; step++) {
            random_step();
        }
        close_all();
    }
}
END_TEST

START_TEST(counts_what_was_there_before)
{
    open_with("", false);
    seed = 7;
    restore(true, (uint64_t)1 << 40);
    restore(false, (uint64_t)2 << 40);
    ck_assert_int_eq(mt_alloc_stat(a, MT_STAT_ALLOCATION, MT_SLOT_ALL).allocated, 2);
    ck_assert_int_eq(mt_alloc_stat(a, MT_STAT_ALLOCATION, MT_SLOT_ALL).freed, 0);
    ck_assert_int_eq(mt_alloc_stat(a, MT_STAT_ACTIVE, MT_SLOT_ALL).allocated, 4);
    for (int step = 0; step < STEPS; step++) {
        random_step();
    }
    close_all();
}
END_TEST

START_TEST(the_peak_of_what_is_in_use_may_be_below)
{
    open_with("", true);
    for (size_t i = 0; i < 4; i++) {
        live[i] = take();
        count_all();
    }
    mt_alloc_free_request(a, live[0], 0); /* active stays at 4 */
    count_all();
    reset(true);
    count_all();
    live[4] = take();
    count_all();
    ck_assert_int_eq(mt_alloc_stat(a, MT_STAT_ALLOCATION, MT_SLOT_ALL).peak, 4);
    ck_assert_int_eq(mt_alloc_stat(a, MT_STAT_ACTIVE, MT_SLOT_ALL).peak, 5);
    close_all();
}
END_TEST

UNIT_MAIN("alloc stats", counts_as_pytorch_does, counts_what_was_there_before,
          the_peak_of_what_is_in_use_may_be_below)
