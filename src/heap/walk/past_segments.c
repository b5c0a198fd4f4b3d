/* SPDX-License-Identifier: MIT */
/* Reserved ranges at a moment, by undoing the trace from its end. */
#include "heap/walk/past_segments.h"

#include <stdlib.h>
#include <string.h>

#include "snapshot/model/device_segments.h"
#include "heap/walk/replay.h"

static uint64_t range_end(uint64_t addr, uint64_t size)
{
    return addr > UINT64_MAX - size ? UINT64_MAX : addr + size;
}

uint64_t mt_segment_end(const struct mt_segment *g)
{
    return range_end(g->addr, g->total_size);
}

/* Index of the first segment that ends behind addr. */
size_t mt_past_segments_search(const struct mt_past_segments *p, uint64_t addr)
{
    size_t lo = 0, hi = p->v.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (mt_segment_end(&p->v.v[mid]) > addr) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo;
}

static bool segment_insert(struct mt_past_segments *p, size_t at, const struct mt_segment *g)
{
    if (!mt_vec_reserve(&p->v, p->v.n + 1)) {
        return false;
    }
    struct mt_segment *here = p->v.v + at;
    memmove(here + 1, here, (p->v.n - at) * sizeof *here);
    *here = *g;
    p->v.n++;
    return true;
}

/* Puts a segment in its place, unless one lies there already. */
static bool segment_put(struct mt_past_segments *p, const struct mt_segment *g)
{
    size_t at = mt_past_segments_search(p, g->addr);
    bool taken = at < p->v.n && p->v.v[at].addr < mt_segment_end(g);
    if (g->total_size == 0 || taken) {
        p->unmatched++;
        return true;
    }
    return segment_insert(p, at, g);
}

/* What is known of a segment that the final state does not hold. */
static struct mt_segment segment_from(const struct mt_past_segments *p, size_t index,
                                      bool expandable)
{
    const struct mt_event *e = &p->events[index];
    uint8_t kind = mt_torch_grant_is_small(e->size) ? MT_POOL_SMALL : MT_POOL_LARGE;
    struct mt_segment g = {.addr = e->addr,
                           .total_size = e->size,
                           .stream = e->stream,
                           .stack = e->stack,
                           .device = p->device,
                           .expandable = expandable,
                           .kind = expandable ? MT_POOL_KIND_NOT_KNOWN : kind};
    const uint32_t *pool = p->s->columns[MT_COLUMN_POOL];
    if (pool && pool[p->first + index] < p->s->n_pools) {
        g.pool = p->s->pools[pool[p->first + index]];
    }
    return g;
}

/* Takes [e->addr, + e->size) out of the reserved ranges; ranges that stick out are cut. */
static bool undo_reserve(struct mt_past_segments *p, const struct mt_event *e)
{
    uint64_t lo = e->addr, hi = range_end(lo, e->size);
    size_t at = mt_past_segments_search(p, lo), keep = at;
    struct mt_segment behind = {0};
    size_t i = at;
    for (; i < p->v.n && p->v.v[i].addr < hi; i++) {
        struct mt_segment *g = &p->v.v[i];
        uint64_t end = mt_segment_end(g);
        if (end > hi) {
            behind = *g;
            behind.addr = hi;
            behind.total_size = end - hi;
        }
        if (g->addr < lo) {
            g->total_size = lo - g->addr;
            keep = i + 1;
        }
    }
    p->unmatched += i == at;
    struct mt_segment *v = p->v.v;
    if (i > keep) {
        memmove(v + keep, v + i, (p->v.n - i) * sizeof *v);
        p->v.n -= i - keep;
    }
    return behind.total_size == 0 || segment_insert(p, keep, &behind);
}

static bool undo_unmap(struct mt_past_segments *p, size_t index)
{
    struct mt_segment g = segment_from(p, index, true);
    size_t at = mt_past_segments_search(p, g.addr);
    /* A mapped range belongs to the expandable segment that it touches, if there is one. */
    for (size_t i = at > 0 ? at - 1 : 0; i < p->v.n && i <= at; i++) {
        const struct mt_segment *o = &p->v.v[i];
        if (o->expandable && o->stream == g.stream &&
            (mt_segment_end(o) == g.addr || mt_segment_end(&g) == o->addr)) {
            g.kind = o->kind;
            g.pool = o->pool;
        }
    }
    return segment_put(p, &g);
}

bool mt_past_segments_undo(struct mt_past_segments *p, size_t index)
{
    const struct mt_event *e = &p->events[index];
    struct mt_segment g;
    switch ((enum mt_action)e->action) {
    case MT_ACTION_SEGMENT_ALLOC:
    case MT_ACTION_SEGMENT_MAP: return undo_reserve(p, e);
    case MT_ACTION_SEGMENT_FREE: g = segment_from(p, index, false); return segment_put(p, &g);
    case MT_ACTION_SEGMENT_UNMAP: return undo_unmap(p, index);
    default: return true;
    }
}

const struct mt_segment *mt_past_segments_find(const struct mt_past_segments *p, uint64_t addr)
{
    size_t at = mt_past_segments_search(p, addr);
    return at < p->v.n && p->v.v[at].addr <= addr ? &p->v.v[at] : NULL;
}

static int by_address(const void *a, const void *b)
{
    const struct mt_segment *x = a, *y = b;
    return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Overlapping segments are no state: the first one stays. */
static void drop_overlaps(struct mt_past_segments *p)
{
    size_t out = 0;
    for (size_t i = 0; i < p->v.n; i++) {
        if (out > 0 && mt_segment_end(&p->v.v[out - 1]) > p->v.v[i].addr) {
            p->unmatched++;
        } else {
            p->v.v[out++] = p->v.v[i];
        }
    }
    p->v.n = out;
}

bool mt_past_segments_init(struct mt_past_segments *p, const struct mt_snapshot *s, int32_t device)
{
    struct mt_trace trace = mt_device_trace(s, device);
    *p = (struct mt_past_segments){.s = s,
                                   .device = device,
                                   .first = trace.first,
                                   .n = trace.n,
                                   .events = MT_PART(s->events, trace.first)};
    struct mt_device_segments walk = mt_device_segments(s, device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        if (g->total_size > 0 && !mt_vec_push(&p->v, *g)) {
            return false;
        }
    }
    if (p->v.n) {
        qsort(p->v.v, p->v.n, sizeof *p->v.v, by_address);
    }
    drop_overlaps(p);
    return true;
}

void mt_past_segments_release(struct mt_past_segments *p)
{
    mt_vec_release(&p->v);
}
