/* SPDX-License-Identifier: MIT */
/*
 * The device of the recording: it hands out the recorded addresses in their order, and refuses a
 * call exactly where the recording shows none before the request was answered (which is how a full
 * device or a limit looks from here). Calls that the recording does not have are counted and
 * answered as well as can be, so that the replay goes on.
 */
#include "support/units.h"
#include "verbs/simulate/sim.h"

/* No file says how large the device is, and only the length of reservations depends on it: the size
 * of a large card, or more where more was reserved. */
#define CARD (140 * MT_GIB)

static uint64_t total_of(const struct recorded_device *d)
{
    uint64_t least = d->sim->limit.least;
    return least > CARD / 2 && least < UINT64_MAX / 8 ? 2 * least : CARD;
}

/* The recorded call that would be answered now, or NULL. */
static const struct mt_event *expected(struct recorded_device *d)
{
    const struct mt_sim *sim = d->sim;
    while (d->next < sim->n && d->next < d->request && !is_segment_event(&sim->events[d->next])) {
        d->next++;
    }
    return d->next < sim->n && d->next < d->request ? &sim->events[d->next] : NULL;
}

static bool take(struct recorded_device *d, enum mt_action action, uint64_t addr, uint64_t size)
{
    const struct mt_event *e = expected(d);
    bool same = e && e->action == action && e->size == size && (addr == 0 || e->addr == addr);
    d->answered = same ? d->next : SIZE_MAX;
    d->matched += same;
    d->next += same;
    return same;
}

static void note_extra(struct recorded_device *d, bool recorded, uint64_t addr)
{
    d->extra = recorded || d->extra ? d->extra : addr;
}

static enum mt_status refuse(struct mt_error *err)
{
    return mt_fail(err, MT_DEVICE_OOM, MT_NO_OFFSET, "the recording shows no such call");
}

static void recorded_caps(void *ctx, struct mt_device_caps *caps)
{
    const struct recorded_device *d = ctx;
    *caps = (struct mt_device_caps){
        .granularity = 512, .total = total_of(d), .has_vmm = true, .has_events = false};
}

/* What the next refusal says was free. */
static enum mt_status recorded_mem_info(void *ctx, uint64_t *free_bytes, uint64_t *total,
                                        struct mt_error *err)
{
    const struct recorded_device *d = ctx;
    const struct mt_sim *sim = d->sim;
    (void)err;
    bool oom = d->request < sim->n && sim->events[d->request].action == MT_ACTION_OOM;
    *free_bytes = oom ? sim->events[d->request].addr : 0;
    *total = total_of(d);
    return MT_OK;
}

static enum mt_status recorded_mem_alloc(void *ctx, uint64_t size, uint64_t *addr,
                                         struct mt_error *err)
{
    struct recorded_device *d = ctx;
    const struct mt_event *e = expected(d);
    if (!e || !take(d, MT_ACTION_SEGMENT_ALLOC, 0, size)) {
        return refuse(err);
    }
    *addr = e->addr;
    d->made++;
    return MT_OK;
}

static enum mt_status recorded_mem_free(void *ctx, uint64_t addr, uint64_t size,
                                        struct mt_error *err)
{
    struct recorded_device *d = ctx;
    (void)err;
    d->made++;
    note_extra(d, take(d, MT_ACTION_SEGMENT_FREE, addr, size), addr);
    return MT_OK;
}

static bool is_reserved(const struct recorded_device *d, uint64_t addr)
{
    for (size_t i = 0; i < d->reserved.n; i++) {
        if (addr >= d->reserved.v[i].low && addr < d->reserved.v[i].high) {
            return true;
        }
    }
    return false;
}

/* A call for this request that maps at a place of its own, or the next such call at all. */
static const struct mt_event *first_map(struct recorded_device *d)
{
    const struct mt_sim *sim = d->sim;
    const struct mt_event *e = expected(d);
    if (e && e->action == MT_ACTION_SEGMENT_MAP) {
        return e;
    }
    uint16_t stream = d->request < sim->n ? sim->events[d->request].stream : 0;
    for (size_t i = d->next; i < sim->n; i++) {
        e = &sim->events[i];
        if (e->action == MT_ACTION_SEGMENT_MAP && e->stream == stream && !is_reserved(d, e->addr)) {
            return e;
        }
    }
    return NULL;
}

/* The first map of a reservation is at its start. */
static enum mt_status recorded_va_reserve(void *ctx, uint64_t size, uint64_t *addr,
                                          struct mt_error *err)
{
    struct recorded_device *d = ctx;
    const struct mt_event *e = first_map(d);
    struct range r = {e ? e->addr : d->invented, 0};
    d->invented += e ? 0 : size;
    r.high = size < UINT64_MAX - r.low ? r.low + size : UINT64_MAX;
    *addr = r.low;
    return mt_vec_push(&d->reserved, r) ? MT_OK : mt_fail_nomem(err);
}

static enum mt_status recorded_va_free(void *ctx, uint64_t addr, uint64_t size,
                                       struct mt_error *err)
{
    struct recorded_device *d = ctx;
    (void)size;
    (void)err;
    for (size_t i = 0; i < d->reserved.n; i++) {
        if (d->reserved.v[i].low == addr) {
            d->reserved.v[i] = d->reserved.v[--d->reserved.n];
            break;
        }
    }
    return MT_OK;
}

static enum mt_status recorded_map(void *ctx, uint64_t addr, uint64_t size, uint64_t page,
                                   struct mt_error *err)
{
    struct recorded_device *d = ctx;
    (void)page;
    if (!take(d, MT_ACTION_SEGMENT_MAP, addr, size)) {
        return refuse(err);
    }
    d->made++;
    return MT_OK;
}

static enum mt_status recorded_unmap(void *ctx, uint64_t addr, uint64_t size, uint64_t page,
                                     uint64_t stream, struct mt_error *err)
{
    struct recorded_device *d = ctx;
    (void)page;
    (void)stream;
    (void)err;
    d->made++;
    note_extra(d, take(d, MT_ACTION_SEGMENT_UNMAP, addr, size), addr);
    return MT_OK;
}

static const struct mt_device_ops RECORDED_OPS = {
    .name = "recorded",
    .caps = recorded_caps,
    .mem_info = recorded_mem_info,
    .mem_alloc = recorded_mem_alloc,
    .mem_free = recorded_mem_free,
    .va_reserve = recorded_va_reserve,
    .va_free = recorded_va_free,
    .map = recorded_map,
    .unmap = recorded_unmap,
};

struct mt_device mt_recorded_device(struct recorded_device *d)
{
    return (struct mt_device){&RECORDED_OPS, d};
}

void mt_recorded_device_begin(struct recorded_device *d, size_t event)
{
    d->request = event;
}

void mt_recorded_device_end(struct recorded_device *d, size_t event)
{
    d->next = event > d->next ? event : d->next;
}
