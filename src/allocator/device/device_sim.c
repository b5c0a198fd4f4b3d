/* SPDX-License-Identifier: MIT */
/*
 * A device that is only numbers. What matters for a replay are the addresses, since the policy
 * breaks ties by them. Seen on recorded runs (4,749 segments): all multiples of 2 MiB; segments of
 * 2 MiB mostly ascend one after the other; those of 20 MiB descend in steps of 32 MiB; and once
 * something was freed, most new segments start where a freed one was. So: one front grows up for
 * segments of 2 MiB, one grows down for the others in slots of 32 MiB, and each size class keeps
 * its freed ranges for the next taker, newest first. A real device does not run out of addresses,
 * only of bytes; neither does this one within 2^60.
 */
#include "allocator/device/device.h"
#include "support/hash.h"
#include "support/vec.h"
#include "torch/alloc_conf.h"

#define GRANULARITY (2 * MT_MIB)
#define SLOT (32 * MT_MIB)
#define FRONT ((uint64_t)0x7f0000000000) /* where the driver's addresses begin on Linux */
#define BELOW ((uint64_t)1 << 46)        /* room for what grows down */
#define SPACE ((uint64_t)1 << 60)

struct range {
    uint64_t addr, size;
    uint32_t older; /* next in the list of its size, 0 = none */
};

struct mt_device_sim {
    uint64_t total, capacity, used;
    uint64_t up, down, floor; /* the two fronts, and where the lower one ends */
    uint64_t rise;            /* the front of large segments that ascend */
    enum mt_device_order order;
    uint64_t placed;            /* large segments so far */
    MT_VEC(struct range) freed; /* slot 0 is unused; entries in no list are spare */
    uint32_t spare;
    struct mt_idmap newest; /* slot size -> newest freed range */
    bool hold;
    uint64_t next_event, events;
};

struct mt_device_sim *mt_device_sim_new(const struct mt_device_sim_options *o)
{
    struct mt_device_sim *d = mt_mem_zalloc(1, sizeof *d);
    struct range none = {0};
    if (!d || !mt_vec_push(&d->freed, none)) {
        mt_mem_free(d);
        return NULL;
    }
    d->total = o->total;
    d->capacity = o->capacity ? o->capacity : o->total;
    d->used = o->held;
    d->floor = o->above;
    d->up = d->down = o->above < FRONT - BELOW ? FRONT : o->above / SLOT * SLOT + SLOT + BELOW;
    d->rise = d->up + BELOW;
    d->order = o->order;
    return d;
}

void mt_device_sim_free(struct mt_device_sim *d)
{
    if (d) {
        mt_vec_release(&d->freed);
        mt_idmap_release(&d->newest);
        mt_mem_free(d);
    }
}

void mt_device_sim_hold(struct mt_device_sim *d, bool on)
{
    d->hold = on;
}

uint64_t mt_device_sim_used(const struct mt_device_sim *d)
{
    return d->used;
}

uint64_t mt_device_sim_events(const struct mt_device_sim *d)
{
    return d->events;
}

static void sim_caps(void *ctx, struct mt_device_caps *caps)
{
    const struct mt_device_sim *d = ctx;
    *caps = (struct mt_device_caps){
        .granularity = GRANULARITY, .total = d->total, .has_vmm = true, .has_events = true};
}

static enum mt_status sim_mem_info(void *ctx, uint64_t *free_bytes, uint64_t *total,
                                   struct mt_error *err)
{
    (void)err;
    const struct mt_device_sim *d = ctx;
    *free_bytes = d->capacity > d->used ? d->capacity - d->used : 0;
    *total = d->total;
    return MT_OK;
}

/* ---- addresses ---- */

/* The addresses that a range takes: its own size when small, whole slots otherwise. */
static uint64_t span(uint64_t size)
{
    return size <= GRANULARITY ? GRANULARITY : (size + SLOT - 1) / SLOT * SLOT;
}

static bool take_freed(struct mt_device_sim *d, uint64_t size, uint64_t *addr)
{
    uint32_t *newest = mt_idmap_find(&d->newest, size);
    if (!newest || *newest == 0) {
        return false;
    }
    uint32_t i = *newest;
    struct range *r = &d->freed.v[i];
    *newest = r->older;
    *addr = r->addr;
    r->older = d->spare;
    d->spare = i;
    return true;
}

/* The next large segment lies above the ones before it. */
static bool ascends(struct mt_device_sim *d)
{
    d->placed++;
    return d->order == MT_DEVICE_DOWN   ? false
           : d->order == MT_DEVICE_UP   ? true
           : d->order == MT_DEVICE_BOTH ? d->placed % 2 == 0
                                        : mt_hash_mix(d->placed, (uint64_t)d->order) % 2 == 0;
}

static bool place(struct mt_device_sim *d, uint64_t size, uint64_t *addr)
{
    if (size > SPACE || d->up + size > SPACE || d->rise + size > SPACE) {
        return false;
    }
    uint64_t want = span(size);
    if (take_freed(d, want, addr)) {
        return true;
    }
    if (want == GRANULARITY) {
        *addr = d->up;
        d->up += want;
    } else if (ascends(d)) {
        *addr = d->rise;
        d->rise += want;
    } else if (d->down > d->floor + want) {
        d->down -= want;
        *addr = d->down;
    } else {
        *addr = d->up;
        d->up += want;
    }
    return true;
}

/* Forgetting a range only costs addresses, so running out of memory here does no harm. */
static void keep_freed(struct mt_device_sim *d, uint64_t addr, uint64_t size)
{
    uint32_t i = d->spare, *newest = mt_idmap_find(&d->newest, span(size));
    struct range r = {addr, span(size), newest ? *newest : 0};
    if (i) {
        d->spare = d->freed.v[i].older;
        d->freed.v[i] = r;
    } else {
        if (d->freed.n >= UINT32_MAX || !mt_vec_push(&d->freed, r)) {
            return;
        }
        i = (uint32_t)(d->freed.n - 1);
    }
    if (newest) {
        *newest = i;
    } else {
        (void)!mt_idmap_put(&d->newest, span(size), i);
    }
}

static enum mt_status no_room(struct mt_error *err, uint64_t size)
{
    return mt_fail(err, MT_DEVICE_OOM, MT_NO_OFFSET, "no room for %llu bytes",
                   (unsigned long long)size);
}

static bool fits(const struct mt_device_sim *d, uint64_t size)
{
    return size <= d->capacity && d->used <= d->capacity - size;
}

static enum mt_status sim_mem_alloc(void *ctx, uint64_t size, uint64_t *addr, struct mt_error *err)
{
    struct mt_device_sim *d = ctx;
    if (!fits(d, size) || !place(d, size, addr)) {
        return no_room(err, size);
    }
    d->used += size;
    return MT_OK;
}

static enum mt_status sim_mem_free(void *ctx, uint64_t addr, uint64_t size, struct mt_error *err)
{
    (void)err;
    struct mt_device_sim *d = ctx;
    d->used -= size < d->used ? size : d->used;
    keep_freed(d, addr, size);
    return MT_OK;
}

static enum mt_status sim_va_reserve(void *ctx, uint64_t size, uint64_t *addr, struct mt_error *err)
{
    return place(ctx, size, addr) ? MT_OK : no_room(err, size);
}

static enum mt_status sim_va_free(void *ctx, uint64_t addr, uint64_t size, struct mt_error *err)
{
    (void)err;
    keep_freed(ctx, addr, size);
    return MT_OK;
}

static enum mt_status sim_map(void *ctx, uint64_t addr, uint64_t size, uint64_t page,
                              struct mt_error *err)
{
    struct mt_device_sim *d = ctx;
    (void)addr;
    (void)page;
    if (!fits(d, size)) {
        return no_room(err, size);
    }
    d->used += size;
    return MT_OK;
}

static enum mt_status sim_unmap(void *ctx, uint64_t addr, uint64_t size, uint64_t page,
                                uint64_t stream, struct mt_error *err)
{
    struct mt_device_sim *d = ctx;
    (void)addr;
    (void)page;
    (void)stream;
    (void)err;
    d->used -= size < d->used ? size : d->used;
    return MT_OK;
}

/* ---- stream order ---- */

static enum mt_status sim_event_record(void *ctx, uint64_t stream, uint64_t *event,
                                       struct mt_error *err)
{
    struct mt_device_sim *d = ctx;
    (void)stream;
    (void)err;
    *event = ++d->next_event;
    d->events++;
    return MT_OK;
}

static enum mt_status sim_event_done(void *ctx, uint64_t event, bool *done, struct mt_error *err)
{
    const struct mt_device_sim *d = ctx;
    (void)event;
    (void)err;
    *done = !d->hold;
    return MT_OK;
}

static enum mt_status sim_event_sync(void *ctx, uint64_t event, struct mt_error *err)
{
    (void)ctx;
    (void)event;
    (void)err;
    return MT_OK;
}

static void sim_event_free(void *ctx, uint64_t event)
{
    struct mt_device_sim *d = ctx;
    (void)event;
    d->events--;
}

static const struct mt_device_ops SIM_OPS = {
    .name = "simulated",
    .caps = sim_caps,
    .mem_info = sim_mem_info,
    .mem_alloc = sim_mem_alloc,
    .mem_free = sim_mem_free,
    .va_reserve = sim_va_reserve,
    .va_free = sim_va_free,
    .map = sim_map,
    .unmap = sim_unmap,
    .event_record = sim_event_record,
    .event_done = sim_event_done,
    .event_sync = sim_event_sync,
    .event_free = sim_event_free,
};

struct mt_device mt_device_sim_device(struct mt_device_sim *d)
{
    return (struct mt_device){&SIM_OPS, d};
}
