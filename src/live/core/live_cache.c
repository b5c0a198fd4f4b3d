/* SPDX-License-Identifier: MIT */
/*
 * The policy core behind the CUDA runtime's own calls. What stream a block belongs to says when it
 * may be handed out again: a block of a stream at once to that stream, in the order of its work;
 * one of no stream to anybody, which is why it is freed only after the device was waited for, or
 * after an event in the stream that it was freed from.
 */
#include "live/core/live_cache.h"
#include "live/core/live.h"
#include "support/mem.h"
#include "support/vec.h"

enum mt_status mt_cache_device(struct mt_live *live, int device, struct mt_device_cuda **out,
                               struct mt_error *err)
{
    struct mt_live_device *d = NULL;
    mt_quick_lock_take(&live->lock);
    enum mt_status status = mt_live_device(live, device, &d, err);
    *out = status == MT_OK ? d->cuda : NULL;
    mt_quick_lock_give(&live->lock);
    return status;
}

/* Work of the default stream waits for that of all blocking streams, and theirs for it. The real
 * request is such work: without it, memory would go from one of them to another with nothing in
 * between. An event is the least that can be queued. */
static enum mt_status keep_order(const struct mt_live_device *d, uint64_t stream,
                                 struct mt_error *err)
{
    const struct mt_device device = mt_device_cuda_device(d->cuda);
    uint64_t event = 0;
    if (stream == MT_CACHE_LEGACY_STREAM) {
        MT_TRY(device.ops->event_record(device.ctx, stream, &event, err));
        device.ops->event_free(device.ctx, event);
    }
    return MT_OK;
}

enum mt_status mt_cache_allocate(struct mt_live *live, int device, uint64_t size, uint64_t stream,
                                 uint32_t stack, uint64_t *addr, struct mt_error *err)
{
    const struct mt_alloc_request r = {.size = size, .stream = stream, .stack = stack};
    struct mt_live_device *d = NULL;
    mt_quick_lock_take(&live->lock);
    enum mt_status status = mt_live_device(live, device, &d, err);
    if (status == MT_OK) {
        status = keep_order(d, stream, err);
    }
    if (status == MT_OK) {
        mt_recorder_tick(live->recorder);
        status = mt_alloc_allocate(d->alloc, &r, addr, NULL, err);
    }
    mt_quick_lock_give(&live->lock);
    return status;
}

/* ---- whose an address is ---- */

struct search {
    struct mt_cache_place *place;
    uint64_t addr;
};

static bool look_at_segment(void *ctx, const struct mt_alloc_segment_view *s)
{
    const struct search *search = ctx;
    if (search->addr - s->addr >= s->size) { /* also where it lies below: the difference wraps */
        return true;
    }
    search->place->owned = true;
    search->place->base = s->addr;
    return false;
}

static bool pass_block(void *ctx, const struct mt_alloc_block_view *b)
{
    (void)ctx;
    (void)b;
    return true;
}

/* With the lock. False when out of memory. */
static bool find_segment(struct mt_live *live, uint64_t addr, struct mt_cache_place *out)
{
    struct mt_error err;
    struct search search = {out, addr};
    const struct mt_alloc_visitor visitor = {look_at_segment, pass_block, &search};
    for (int i = 0; !out->owned && i < live->n_devices; i++) {
        out->device = i;
        if (live->devices[i].alloc &&
            mt_alloc_walk(live->devices[i].alloc, &visitor, &err) != MT_OK) {
            return false;
        }
    }
    return true;
}

static void find_block(struct mt_live *live, uint64_t addr, struct mt_cache_place *out)
{
    for (int i = 0; !out->block && i < live->n_devices; i++) {
        const struct mt_alloc *a = live->devices[i].alloc;
        mt_alloc_block block = {a ? mt_alloc_find(a, addr).i : 0};
        if (block.i != 0) {
            struct mt_alloc_block_info info;
            mt_alloc_block_get(a, block, &info);
            *out = (struct mt_cache_place){
                .owned = true, .block = true, .device = i, .stream = info.stream};
        }
    }
}

bool mt_cache_find(struct mt_live *live, uint64_t addr, struct mt_cache_place *out)
{
    bool done = true;
    *out = (struct mt_cache_place){0};
    mt_quick_lock_take(&live->lock);
    find_block(live, addr, out);
    if (!out->block) {
        done = find_segment(live, addr, out);
    }
    mt_quick_lock_give(&live->lock);
    return done;
}

bool mt_cache_segment(struct mt_live *live, uint64_t addr, struct mt_cache_place *out)
{
    *out = (struct mt_cache_place){0};
    mt_quick_lock_take(&live->lock);
    bool done = find_segment(live, addr, out);
    mt_quick_lock_give(&live->lock);
    return done && out->owned;
}

/* ---- giving back ---- */

static enum mt_status free_locked(struct mt_live *live, struct mt_alloc *a, uint64_t addr,
                                  uint64_t stream, uint32_t stack, struct mt_error *err)
{
    mt_alloc_block block = a ? mt_alloc_find(a, addr) : (mt_alloc_block){0};
    if (block.i == 0) {
        return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET, "%#llx is not the start of a block",
                       (unsigned long long)addr);
    }
    if (stream != MT_CACHE_NO_STREAM) {
        MT_TRY(mt_alloc_record_stream(a, block, stream, err));
    }
    mt_recorder_tick(live->recorder);
    return mt_alloc_free(a, block, stack, err);
}

enum mt_status mt_cache_free(struct mt_live *live, int device, uint64_t addr, uint64_t stream,
                             uint32_t stack, struct mt_error *err)
{
    mt_quick_lock_take(&live->lock);
    enum mt_status status =
        free_locked(live, live->devices[device].alloc, addr, stream, stack, err);
    mt_quick_lock_give(&live->lock);
    return status;
}

static bool add_idle(void *ctx, const struct mt_alloc_segment_view *s)
{
    uint64_t *idle = ctx;
    *idle += s->active == 0 && !s->expandable ? s->size : 0;
    return true;
}

uint64_t mt_cache_idle(struct mt_live *live, int device)
{
    struct mt_error err;
    uint64_t idle = 0;
    const struct mt_alloc_visitor visitor = {add_idle, pass_block, &idle};
    mt_quick_lock_take(&live->lock);
    const struct mt_alloc *a =
        device >= 0 && device < live->n_devices ? live->devices[device].alloc : NULL;
    if (a && mt_alloc_walk(a, &visitor, &err) != MT_OK) {
        idle = 0;
    }
    mt_quick_lock_give(&live->lock);
    return idle;
}

enum mt_status mt_cache_release_idle(struct mt_live *live, uint64_t *released, struct mt_error *err)
{
    enum mt_status status = MT_OK;
    *released = 0;
    mt_quick_lock_take(&live->lock);
    mt_recorder_tick(live->recorder);
    for (int i = 0; status == MT_OK && i < live->n_devices; i++) {
        struct mt_alloc *a = live->devices[i].alloc;
        if (a) {
            uint64_t before = mt_alloc_total_allocated(a);
            status = mt_alloc_empty_cache(a, err);
            *released += before - mt_alloc_total_allocated(a);
        }
    }
    mt_quick_lock_give(&live->lock);
    return status;
}

/* ---- the end of a device ---- */

struct in_use {
    MT_VEC(uint64_t) addresses;
};

static bool pass_segment(void *ctx, const struct mt_alloc_segment_view *s)
{
    (void)ctx;
    (void)s;
    return true;
}

static bool collect_block(void *ctx, const struct mt_alloc_block_view *b)
{
    struct in_use *u = ctx;
    return b->state != MT_ALLOC_IN_USE || mt_vec_push(&u->addresses, b->addr);
}

/* So that the trace ends as the state does. What finds no memory is missing in the trace only. */
static void free_all(struct mt_alloc *a)
{
    struct mt_error err;
    struct in_use u = {0};
    const struct mt_alloc_visitor visitor = {pass_segment, collect_block, &u};
    (void)!mt_alloc_walk(a, &visitor, &err);
    for (size_t i = 0; i < u.addresses.n; i++) {
        (void)!mt_alloc_free(a, mt_alloc_find(a, u.addresses.v[i]), 0, &err);
    }
    (void)!mt_alloc_empty_cache(a, &err);
    mt_vec_release(&u.addresses);
}

void mt_cache_forget(struct mt_live *live, int device)
{
    struct mt_live_device *d =
        device >= 0 && device < live->n_devices ? &live->devices[device] : NULL;
    mt_quick_lock_take(&live->lock);
    const struct mt_device_cuda *cuda = d ? d->cuda : NULL;
    mt_quick_lock_give(&live->lock);
    if (cuda) { /* work that is waited for may wait for a thread that allocates */
        (void)!mt_device_cuda_sync(cuda);
    }
    mt_quick_lock_take(&live->lock);
    if (d && d->alloc) {
        mt_recorder_tick(live->recorder);
        free_all(d->alloc);
        mt_alloc_delete(d->alloc);
        mt_device_cuda_free(d->cuda);
        d->alloc = NULL;
        d->cuda = NULL;
    }
    mt_quick_lock_give(&live->lock);
}
