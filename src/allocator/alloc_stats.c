/* SPDX-License-Identifier: MIT */
/* The counters under PyTorch's flat names, in the order of torch.cuda.memory_stats(). */
#include <stdio.h>
#include <string.h>

#include "alloc_core.h"

static const char *const STAT_NAMES[] = {
#define X(id, name) name,
    MT_ALLOC_STAT_MAP(X)
#undef X
};
static const char *const SLOT_NAMES[] = {".all", ".small_pool", ".large_pool"};

struct each {
    bool (*call)(void *ctx, const char *name, int64_t value);
    void *ctx;
};

static bool each_stat(const struct each *e, const char *name, const char *slot,
                      const struct mt_alloc_stat *s)
{
    const struct {
        const char *name;
        int64_t value;
    } parts[] = {{"current", s->current},
                 {"peak", s->peak},
                 {"allocated", s->allocated},
                 {"freed", s->freed}};
    for (size_t i = 0; i < MT_COUNT(parts); i++) {
        char flat[64];
        snprintf(flat, sizeof flat, "%s%s.%s", name, slot, parts[i].name);
        if (!e->call(e->ctx, flat, parts[i].value)) {
            return false;
        }
    }
    return true;
}

bool mt_alloc_stats_each(const struct mt_alloc_stats *s,
                         bool (*each)(void *ctx, const char *name, int64_t value), void *ctx)
{
    const struct each e = {each, ctx};
    for (size_t i = 0; i < MT_STAT_COUNT; i++) {
        for (size_t k = 0; k < MT_SLOT_COUNT; k++) {
            if (!each_stat(&e, STAT_NAMES[i], SLOT_NAMES[k], &s->stat[i][k])) {
                return false;
            }
        }
    }
    return each_stat(&e, "oversize_allocations", "", &s->oversize_allocations) &&
           each_stat(&e, "oversize_segments", "", &s->oversize_segments) &&
           each(ctx, "num_alloc_retries", (int64_t)s->num_alloc_retries) &&
           each(ctx, "num_ooms", (int64_t)s->num_ooms) &&
           each(ctx, "num_sync_all_streams", (int64_t)s->num_sync_all_streams) &&
           each(ctx, "num_device_alloc", (int64_t)s->num_device_alloc) &&
           each(ctx, "num_device_free", (int64_t)s->num_device_free);
}

const struct mt_alloc_stats *mt_alloc_stats(const struct mt_alloc *a)
{
    return &a->stats;
}

static void each_of(struct mt_alloc *a, void (*change)(struct mt_alloc_stat *s))
{
    for (size_t i = 0; i < MT_STAT_COUNT; i++) {
        for (size_t k = 0; k < MT_SLOT_COUNT; k++) {
            change(&a->stats.stat[i][k]);
        }
    }
    change(&a->stats.oversize_allocations);
    change(&a->stats.oversize_segments);
}

static void reset_peak(struct mt_alloc_stat *s)
{
    s->peak = s->current;
}

static void reset_accumulated(struct mt_alloc_stat *s)
{
    s->allocated = s->freed = 0;
}

void mt_alloc_reset_peak(struct mt_alloc *a)
{
    each_of(a, reset_peak);
}

void mt_alloc_reset_accumulated(struct mt_alloc *a)
{
    struct mt_alloc_stats *s = &a->stats;
    each_of(a, reset_accumulated);
    s->num_alloc_retries = s->num_ooms = s->num_sync_all_streams = 0;
    s->num_device_alloc = s->num_device_free = s->num_oom_rejections = 0;
    s->searches = s->hits = s->splits = s->merges = 0;
    s->garbage_collections = s->releases = 0;
}
