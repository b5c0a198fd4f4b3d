/* SPDX-License-Identifier: MIT */
/*
 * Bytes become operations on an allocator over the simulated device, with every kind of setting;
 * behind each one the invariants are proven. The first four bytes choose settings and bounds.
 */
#include <stdint.h>
#include <stdlib.h>

#include "allocator/core/allocator.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HELD = 32 };

struct player {
    struct mt_alloc *a;
    struct mt_device_sim *sim;
    struct mt_device_fault fault;
    mt_alloc_block held[HELD];
    bool pending[HELD];
};

static void demand(bool ok)
{
    if (!ok) {
        abort();
    }
}

static void prove(const struct player *p)
{
    struct mt_error err;
    demand(mt_alloc_check(p->a, &err) == MT_OK);
}

static struct mt_alloc_settings settings_of(uint8_t bits)
{
    struct mt_alloc_settings s;
    mt_alloc_settings_default(&s);
    s.expandable_segments = bits & 1;
    if (bits & 2) {
        s.max_split_size = (uint64_t)(20 + (bits >> 4)) * MT_MIB;
    }
    if (bits & 4) {
        s.garbage_collection_threshold = 0.25 + (bits >> 5) * 0.1;
    }
    for (size_t i = 0; i < MT_ALLOC_INTERVALS && (bits & 8); i++) {
        s.roundup_power2_divisions[i] = (uint64_t)1 << (bits >> 6);
    }
    return s;
}

/* Sizes of every class, around their borders. */
static uint64_t size_of(uint8_t a, uint8_t b)
{
    static const uint64_t base[] = {1,           512,         MT_MIB,      2 * MT_MIB,
                                    10 * MT_MIB, 20 * MT_MIB, 64 * MT_MIB, (uint64_t)1 << 60};
    return base[a & 7] + (uint64_t)(a >> 3) * 4096 + b;
}

static void request(struct player *p, uint8_t x, uint8_t y, uint8_t slot)
{
    struct mt_error err;
    struct mt_alloc_request r = {.size = size_of(x, y),
                                 .stream = slot & 3,
                                 .stack = x,
                                 .has_pool = (slot & 0xc0) == 0xc0,
                                 .pool = {(slot >> 2) & 1, (slot >> 3) & 1}};
    enum mt_status status = mt_alloc_allocate(p->a, &r, NULL, &p->held[slot % HELD], &err);
    demand(status == MT_OK || status == MT_DEVICE_OOM || status == MT_DEVICE || status == MT_NOMEM);
}

static void release(struct player *p, uint8_t x, uint8_t slot)
{
    struct mt_error err;
    mt_alloc_block *b = &p->held[slot % HELD];
    bool *pending = &p->pending[slot % HELD];
    if (*pending) {
        struct mt_alloc_block_info info;
        mt_alloc_block_get(p->a, *b, &info);
        mt_alloc_free_complete(p->a, *b);
        *pending = false;
    } else if (x & 1) {
        mt_alloc_free_request(p->a, *b, x);
        *pending = true;
        return;
    } else {
        if (x & 2) {
            (void)!mt_alloc_record_stream(p->a, *b, x >> 4, &err);
        }
        (void)!mt_alloc_free(p->a, *b, x, &err);
    }
    b->i = 0;
}

/* A release completes frees that are pending by hand: their handles are gone. */
static void on_event(void *ctx, const struct mt_alloc_event *e)
{
    struct player *p = ctx;
    for (size_t i = 0; i < HELD && e->kind == MT_ALLOC_EVENT_FREE_COMPLETED; i++) {
        if (p->held[i].i == e->block.i) {
            p->held[i].i = 0;
            p->pending[i] = false;
        }
    }
}

static void other(struct player *p, uint8_t x, uint8_t y)
{
    struct mt_error err;
    struct mt_alloc_pool_id id = {x & 1, 1 - (x & 1)};
    struct mt_alloc_settings s = settings_of(y);
    switch (x >> 4) {
    case 0: (void)!mt_alloc_empty_cache(p->a, &err); return;
    case 1: (void)!mt_alloc_process_events(p->a, &err); return;
    case 2: mt_device_sim_hold(p->sim, y & 1); return;
    case 3: (void)!mt_alloc_pool_begin(p->a, id, y & 1, NULL, NULL, &err); return;
    case 4: mt_alloc_pool_end(p->a, id); return;
    case 5: mt_alloc_pool_release(p->a, id); return;
    case 6: mt_alloc_set_allowed(p->a, y & 1, (uint64_t)y * 8 * MT_MIB); return;
    case 7: mt_alloc_reset_peak(p->a); return;
    case 8: p->fault.fail_at = p->fault.seen + 1 + y % 8; return;
    case 9:
        s.max_split_size = mt_alloc_settings(p->a)->max_split_size; /* fixed, as in PyTorch */
        mt_alloc_set_settings(p->a, &s);
        return;
    default: (void)mt_alloc_largest_free(p->a); return;
    }
}

static void play(struct player *p, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 3 < size; i += 4) {
        uint8_t what = data[i], x = data[i + 1], y = data[i + 2], slot = data[i + 3];
        if (what % 8 == 7) {
            other(p, x, y);
        } else if (p->held[slot % HELD].i) {
            release(p, x, slot);
        } else {
            request(p, x, y, slot);
        }
        prove(p);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4 || size > 4096) {
        return 0;
    }
    static const mt_torch_release releases[] = {113, 203, 204, 206, 211, 212, 213, 211};
    struct mt_error err;
    struct player p = {
        .sim = mt_device_sim_new(&(struct mt_device_sim_options){
            .total = (uint64_t)1 << 33, .capacity = (1 + (uint64_t)data[1]) * 4 * MT_MIB})};
    demand(p.sim != NULL);
    p.fault = (struct mt_device_fault){.inner = mt_device_sim_device(p.sim),
                                       .call = MT_DEVICE_CALL_COUNT,
                                       .status = data[3] & 1 ? MT_DEVICE : MT_DEVICE_OOM};
    struct mt_alloc_options o = {.settings = settings_of(data[0]),
                                 .release = releases[data[3] >> 5],
                                 .device = mt_device_fault_device(&p.fault),
                                 .observer = {on_event, &p},
                                 .has_allowed = data[2] > 0,
                                 .allowed = (uint64_t)data[2] * 2 * MT_MIB,
                                 .find_by_addr = data[3] & 2};
    demand(mt_alloc_new(&o, &p.a, &err) == MT_OK);
    play(&p, data + 4, size - 4);
    p.fault.fail_at = 0;
    mt_alloc_delete(p.a);
    demand(mt_device_sim_events(p.sim) == 0);
    mt_device_sim_free(p.sim);
    return 0;
}
