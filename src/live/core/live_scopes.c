/* SPDX-License-Identifier: MIT */
/*
 * Private pools: memory that belongs to a CUDA graph or to a MemPool and serves nobody else. A
 * graph's kernels keep the addresses that they were captured with, so what is allocated on a
 * capturing stream must never be given to others while the graph may run again.
 *
 * Who captures is told by PyTorch through hooks, where they are set; then the driver is asked only
 * while a scope is open. Without hooks every request on a stream other than the default one (which
 * cannot be captured) asks the driver, and a capture found that way gets a pool of its own which is
 * kept for good: nobody will say when the graph is gone.
 */
#include "live/core/live.h"

#include <string.h>

#include "support/mem.h"

/* Called by the core during a request, so with the lock. */
static bool accepts(void *ctx, uint64_t stream)
{
    struct mt_live_scope *s = ctx;
    uint64_t id = 0;
    if (!s->capture) {
        return pthread_equal(s->thread, pthread_self()) != 0;
    }
    if (!mt_cuda_capturing(s->live->cuda, stream, &id)) {
        return false;
    }
    if (s->capture_id == 0) {
        s->capture_id = id;
    }
    return s->capture_id == id;
}

static struct mt_live_scope *free_scope(struct mt_live *live)
{
    for (int i = 0; i < MT_LIVE_SCOPES_MAX; i++) {
        if (!live->scopes[i].used) {
            return &live->scopes[i];
        }
    }
    return NULL;
}

static enum mt_status begin(struct mt_live *live, struct mt_live_device *d,
                            const struct mt_live_scope *wanted, struct mt_error *err)
{
    struct mt_live_scope *s = free_scope(live);
    if (!s) {
        return mt_fail(err, MT_LIMIT, MT_NO_OFFSET,
                       "more than %d graph captures and memory pools are open at once",
                       MT_LIVE_SCOPES_MAX);
    }
    *s = *wanted;
    s->live = live;
    s->device = d->ordinal;
    MT_TRY(mt_alloc_pool_begin(d->alloc, s->id, s->capture, accepts, s, err));
    s->used = true;
    live->n_scopes++;
    return MT_OK;
}

static void end(struct mt_live *live, struct mt_live_scope *s)
{
    mt_alloc_pool_end(live->devices[s->device].alloc, s->id);
    s->used = false;
    live->n_scopes--;
}

enum mt_status mt_live_scopes_update(struct mt_live *live, struct mt_live_device *d,
                                     uint64_t stream, struct mt_error *err)
{
    for (int i = 0; live->n_scopes > 0 && i < MT_LIVE_SCOPES_MAX; i++) {
        struct mt_live_scope *s = &live->scopes[i];
        uint64_t now = 0;
        if (s->used && s->automatic &&
            !(mt_cuda_capturing(live->cuda, s->stream, &now) && now == s->capture_id)) {
            end(live, s);
        }
    }
    uint64_t id = 0;
    if (live->told_of_scopes || !mt_cuda_capturing(live->cuda, stream, &id)) {
        return MT_OK;
    }
    for (int i = 0; i < MT_LIVE_SCOPES_MAX; i++) {
        const struct mt_live_scope *s = &live->scopes[i];
        if (s->used && s->device == d->ordinal && s->capture_id == id) {
            return MT_OK;
        }
    }
    const struct mt_live_scope wanted = {.capture = true,
                                         .automatic = true,
                                         .stream = stream,
                                         .capture_id = id,
                                         .id = {(int64_t)id, 0}};
    return begin(live, d, &wanted, err);
}

enum mt_status mt_live_scope_begin(struct mt_live *live, int device, struct mt_alloc_pool_id id,
                                   struct mt_error *err)
{
    struct mt_live_device *d = NULL;
    const struct mt_live_scope wanted = {.capture = id.b == 0, .thread = pthread_self(), .id = id};
    mt_quick_lock_take(&live->lock);
    enum mt_status status = mt_live_device(live, device, &d, err);
    if (status == MT_OK) {
        status = begin(live, d, &wanted, err);
    }
    mt_quick_lock_give(&live->lock);
    return status;
}

void mt_live_scope_end(struct mt_live *live, int device, struct mt_alloc_pool_id id)
{
    mt_quick_lock_take(&live->lock);
    for (int i = 0; i < MT_LIVE_SCOPES_MAX; i++) {
        struct mt_live_scope *s = &live->scopes[i];
        if (s->used && s->device == device && s->id.a == id.a && s->id.b == id.b) {
            end(live, s);
            break;
        }
    }
    mt_quick_lock_give(&live->lock);
}

void mt_live_pool_release(struct mt_live *live, int device, struct mt_alloc_pool_id id)
{
    mt_quick_lock_take(&live->lock);
    if (device >= 0 && device < live->n_devices && live->devices[device].alloc && !live->forked) {
        mt_alloc_pool_release(live->devices[device].alloc, id);
    }
    mt_quick_lock_give(&live->lock);
}
