/* SPDX-License-Identifier: MIT */
/*
 * The simulated device and the wrappers: the one conformance suite over each, the addresses that
 * the simulation promises, and an allocator whose every device call fails once.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/core/allocator.h"

#include "../device/device_conformance.h"

#define GIB (1024 * MT_MIB)

static struct mt_error err;

static void say_loudly(const char *text)
{
    ck_abort_msg("%s", text);
}

static void conforms(struct mt_device device)
{
    int checks = 0;
    ck_assert_int_eq(device_conformance(device, say_loudly, &checks), 0);
    ck_assert_int_gt(checks, 10);
}

static struct mt_device_sim *new_sim(uint64_t capacity)
{
    struct mt_device_sim_options o = {.total = 80 * GIB, .capacity = capacity};
    struct mt_device_sim *sim = mt_device_sim_new(&o);
    ck_assert_ptr_nonnull(sim);
    return sim;
}

static void count_call(void *ctx, const struct mt_device_record_entry *entry)
{
    int *counts = ctx;
    counts[entry->call]++;
}

START_TEST(conformance)
{
    struct mt_device_sim *sim = new_sim(0);
    struct mt_device device = mt_device_sim_device(sim);
    conforms(device);
    struct mt_device_fault fault = {.inner = device, .call = MT_DEVICE_CALL_COUNT};
    conforms(mt_device_fault_device(&fault));
    ck_assert_uint_gt(fault.seen, 10);
    struct mt_device_limit limit = {.inner = device, .limit = 4 * GIB};
    conforms(mt_device_limit_device(&limit));
    ck_assert_uint_eq(limit.used, 0);
    int counts[MT_DEVICE_CALL_COUNT] = {0};
    struct mt_device_record record = {device, count_call, counts};
    conforms(mt_device_record_device(&record));
    ck_assert_int_gt(counts[MT_DEVICE_CALL_MEM_ALLOC], 0);
    ck_assert_int_gt(counts[MT_DEVICE_CALL_MAP], 0);
    ck_assert_uint_eq(mt_device_sim_used(sim), 0);
    mt_device_sim_free(sim);
}
END_TEST

static uint64_t take(struct mt_device d, uint64_t size)
{
    uint64_t addr = 0;
    ck_assert_int_eq(d.ops->mem_alloc(d.ctx, size, &addr, &err), MT_OK);
    ck_assert_uint_eq(addr % (2 * MT_MIB), 0);
    return addr;
}

START_TEST(addresses_look_like_the_drivers)
{
    struct mt_device_sim *sim = new_sim(0);
    struct mt_device d = mt_device_sim_device(sim);
    uint64_t small = take(d, 2 * MT_MIB), large = take(d, 20 * MT_MIB);
    ck_assert_uint_eq(take(d, 2 * MT_MIB), small + 2 * MT_MIB);
    ck_assert_uint_eq(take(d, 20 * MT_MIB), large - 32 * MT_MIB);
    uint64_t wide = take(d, 40 * MT_MIB);
    ck_assert_uint_eq(wide, large - 96 * MT_MIB);
    ck_assert_int_eq(d.ops->mem_free(d.ctx, wide, 40 * MT_MIB, &err), MT_OK);
    ck_assert_uint_eq(take(d, 50 * MT_MIB), wide); /* the freed range is taken first */
    mt_device_sim_free(sim);
}
END_TEST

START_TEST(capacity_and_what_is_held)
{
    struct mt_device_sim_options o = {.total = GIB, .capacity = 100 * MT_MIB, .held = 60 * MT_MIB};
    struct mt_device_sim *sim = mt_device_sim_new(&o);
    struct mt_device d = mt_device_sim_device(sim);
    uint64_t addr, free_bytes, total;
    ck_assert_int_eq(d.ops->mem_alloc(d.ctx, 42 * MT_MIB, &addr, &err), MT_DEVICE_OOM);
    ck_assert_int_eq(d.ops->mem_info(d.ctx, &free_bytes, &total, &err), MT_OK);
    ck_assert_uint_eq(free_bytes, 40 * MT_MIB);
    ck_assert_uint_eq(total, GIB);
    take(d, 40 * MT_MIB);
    ck_assert_uint_eq(mt_device_sim_used(sim), 100 * MT_MIB);
    mt_device_sim_free(sim);
}
END_TEST

/* ---- every call fails once ---- */

struct player {
    struct mt_alloc *a;
    mt_alloc_block held[24];
    unsigned calls;
};

static void note(struct player *p, enum mt_status status)
{
    struct mt_error broken;
    if (status != MT_OK || ++p->calls % 32 == 0) {
        ck_assert_msg(mt_alloc_check(p->a, &broken) == MT_OK, "%s", broken.text);
    }
}

/* Requests of all kinds, streams, releases; deterministic. */
static void play(struct player *p)
{
    static const uint64_t sizes[] = {700,         300000,      3 * MT_MIB,
                                     11 * MT_MIB, 30 * MT_MIB, 45 * MT_MIB};
    for (unsigned step = 0; step < 240; step++) {
        mt_alloc_block *b = &p->held[(step * 7) % MT_COUNT(p->held)];
        struct mt_alloc_request r = {.size = sizes[(step * 5) % MT_COUNT(sizes)] + step,
                                     .stream = step % 3 == 0};
        if (b->i == 0) {
            note(p, mt_alloc_allocate(p->a, &r, NULL, b, &err));
        } else {
            note(p, mt_alloc_record_stream(p->a, *b, step % 5, &err));
            note(p, mt_alloc_free(p->a, *b, 0, &err));
            b->i = 0;
        }
        if (step % 60 == 59) {
            note(p, mt_alloc_empty_cache(p->a, &err));
        }
    }
}

/* Plays with call n failing; returns whether there was such a call. */
static bool play_with_fault(const char *conf, uint64_t n, enum mt_status status)
{
    struct mt_device_sim *sim = new_sim(300 * MT_MIB);
    struct mt_device_fault fault = {.inner = mt_device_sim_device(sim),
                                    .call = MT_DEVICE_CALL_COUNT,
                                    .fail_at = n,
                                    .status = status};
    struct mt_conf parsed;
    mt_conf_parse(mt_str_from(conf), 211, &parsed);
    struct mt_alloc_options o = {.settings = parsed.settings,
                                 .device = mt_device_fault_device(&fault),
                                 .has_allowed = true,
                                 .allowed = 280 * MT_MIB,
                                 .find_by_addr = true};
    struct player p = {0};
    ck_assert_int_eq(mt_alloc_new(&o, &p.a, &err), MT_OK);
    play(&p);
    bool reached = fault.seen >= n;
    fault.fail_at = 0;
    mt_alloc_delete(p.a);
    if (status != MT_DEVICE) {
        ck_assert_uint_eq(mt_device_sim_used(sim), 0);
    }
    mt_device_sim_free(sim);
    return reached;
}

static const char *const CONFS[] = {"", "expandable_segments:True",
                                    "max_split_size_mb:25,garbage_collection_threshold:0.5"};

START_TEST(every_call_fails_once)
{
    static const enum mt_status how[] = {MT_DEVICE_OOM, MT_DEVICE, MT_NOMEM};
    for (size_t k = 0; k < MT_COUNT(how); k++) {
        uint64_t n = 1;
        while (play_with_fault(CONFS[_i], n, how[k])) {
            n++;
        }
        ck_assert_uint_gt(n, 50);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("device_sim");
    tcase_add_test(t, conformance);
    tcase_add_test(t, addresses_look_like_the_drivers);
    tcase_add_test(t, capacity_and_what_is_held);
    tcase_add_loop_test(t, every_call_fails_once, 0, (int)MT_COUNT(CONFS));
    tcase_set_timeout(t, 60);
    return unit_run_cases("device_sim", t);
}
