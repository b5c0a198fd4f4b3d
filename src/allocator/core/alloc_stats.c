/* SPDX-License-Identifier: MIT */
/*
 * The counters as PyTorch has them, put together from the sums of alloc_counts.h, and under its
 * flat names in the order of torch.cuda.memory_stats().
 */
#include <stdio.h>
#include <string.h>

#include "allocator/core/alloc_core.h"

/* ---- from sums to counters ---- */

/* Which sums a counter is the difference of. */
static const struct {
    enum count_sum up, down;
} made_of[MT_STAT_COUNT] = {
    [MT_STAT_ALLOCATION] = {TAKEN, FREED},
    [MT_STAT_SEGMENT] = {SEGMENT_UP, SEGMENT_DOWN},
    [MT_STAT_ACTIVE] = {TAKEN, DONE},
    [MT_STAT_INACTIVE_SPLIT] = {SPLIT_UP, SPLIT_DOWN},
    [MT_STAT_ALLOCATED_BYTES] = {TAKEN_BYTES, FREED_BYTES},
    [MT_STAT_RESERVED_BYTES] = {RESERVED_UP, RESERVED_DOWN},
    [MT_STAT_ACTIVE_BYTES] = {TAKEN_BYTES, DONE_BYTES},
    [MT_STAT_INACTIVE_SPLIT_BYTES] = {SPLIT_BYTES_UP, SPLIT_BYTES_DOWN},
    [MT_STAT_REQUESTED_BYTES] = {TAKEN_REQUESTED, DONE_REQUESTED},
};

static int64_t current(const struct tally *t, enum mt_alloc_stat_id id)
{
    return t->sum[made_of[id].up] - t->sum[made_of[id].down];
}

static void lift(int64_t *peak, int64_t current)
{
    *peak = current > *peak ? current : *peak;
}

void mt_counts_lift_peaks(struct counts *c, struct tally *t)
{
    for (enum mt_alloc_stat_id id = 0; id < MT_STAT_COUNT; id++) {
        int64_t own = current(t, id);
        lift(&t->peak[id], own);
        lift(&c->peak_all[id], own + current(other_than(c, t), id));
    }
}

void mt_counts_rise(struct counts *c, struct tally *t, enum mt_alloc_stat_id id, uint64_t n)
{
    t->sum[made_of[id].up] += (int64_t)n;
    mt_counts_lift_peaks(c, t);
}

void mt_counts_fall(struct tally *t, enum mt_alloc_stat_id id, uint64_t n)
{
    t->sum[made_of[id].down] += (int64_t)n;
}

static void forget(struct tally *t, enum mt_alloc_stat_id id, uint64_t n)
{
    t->forgotten[id].up += (int64_t)n;
    t->forgotten[id].down += (int64_t)n;
}

void mt_counts_add_pending(struct counts *c, struct tally *t, uint64_t size, uint64_t requested)
{
    count_freed(t, size);
    count_taken(c, t, size, requested);
    forget(t, MT_STAT_ALLOCATION, 1);
    forget(t, MT_STAT_ALLOCATED_BYTES, size);
}

static struct mt_alloc_stat stat_of(const struct tally *t, enum mt_alloc_stat_id id)
{
    int64_t up = t->sum[made_of[id].up], down = t->sum[made_of[id].down];
    return (struct mt_alloc_stat){.current = up - down,
                                  .peak = t->peak[id],
                                  .allocated = up - t->forgotten[id].up,
                                  .freed = down - t->forgotten[id].down};
}

struct mt_alloc_stat mt_alloc_stat(const struct mt_alloc *a, enum mt_alloc_stat_id id,
                                   enum mt_alloc_stat_slot slot)
{
    if (slot != MT_SLOT_ALL) {
        return stat_of(&a->counts.tally[slot == MT_SLOT_SMALL], id);
    }
    struct mt_alloc_stat large = stat_of(&a->counts.tally[false], id);
    struct mt_alloc_stat small = stat_of(&a->counts.tally[true], id);
    return (struct mt_alloc_stat){.current = large.current + small.current,
                                  .peak = a->counts.peak_all[id],
                                  .allocated = large.allocated + small.allocated,
                                  .freed = large.freed + small.freed};
}

struct mt_alloc_stats mt_alloc_stats(const struct mt_alloc *a)
{
    struct mt_alloc_stats s = a->stats;
    for (enum mt_alloc_stat_id id = 0; id < MT_STAT_COUNT; id++) {
        for (enum mt_alloc_stat_slot slot = 0; slot < MT_SLOT_COUNT; slot++) {
            s.stat[id][slot] = mt_alloc_stat(a, id, slot);
        }
    }
    return s;
}

/* ---- resets ---- */

void mt_alloc_reset_peak(struct mt_alloc *a)
{
    struct mt_alloc_stats *s = &a->stats;
    struct counts *c = &a->counts;
    memset(c->peak_all, 0, sizeof c->peak_all);
    for (int small = 0; small < 2; small++) {
        memset(c->tally[small].peak, 0, sizeof c->tally[small].peak);
        mt_counts_lift_peaks(c, &c->tally[small]);
    }
    s->oversize_allocations.peak = s->oversize_allocations.current;
    s->oversize_segments.peak = s->oversize_segments.current;
}

void mt_alloc_reset_accumulated(struct mt_alloc *a)
{
    struct counts *c = &a->counts;
    for (int small = 0; small < 2; small++) {
        struct tally *t = &c->tally[small];
        for (enum mt_alloc_stat_id id = 0; id < MT_STAT_COUNT; id++) {
            t->forgotten[id].up = t->sum[made_of[id].up];
            t->forgotten[id].down = t->sum[made_of[id].down];
        }
    }
    struct mt_alloc_stats *s = &a->stats;
    s->oversize_allocations.allocated = s->oversize_allocations.freed = 0;
    s->oversize_segments.allocated = s->oversize_segments.freed = 0;
    s->num_alloc_retries = s->num_ooms = s->num_sync_all_streams = 0;
    s->num_device_alloc = s->num_device_free = s->num_oom_rejections = 0;
    s->searches = s->hits = s->splits = s->merges = 0;
    s->garbage_collections = s->releases = 0;
}

/* ---- by name ---- */

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
