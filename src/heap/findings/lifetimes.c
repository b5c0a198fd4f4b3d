/* SPDX-License-Identifier: MIT */
/*
 * Short lives and slow frees. A temporary is an allocation whose free comes within a few events: it
 * costs time and splits blocks, and one of it often sits on top of the peak. A pending free is one
 * whose completion is not the next event of the trace: another stream still had work on the block
 * (record_stream), and until then nobody could use it.
 */
#include "heap/findings/leaks.h"

#include <stdlib.h>

#include "support/hash.h"
#include "support/mem.h"

struct gather {
    const struct mt_replay *r;
    struct mt_filtered *f;
    struct mt_lifetimes *out;
    struct mt_idmap temporary; /* stack -> index + 1 */
    struct mt_idmap pending;   /* stack and stream -> index + 1 */
    struct mt_idmap dropped;   /* alloc event -> its free_requested event */
};

static struct mt_temporary *temporary_of(struct gather *g, uint32_t stack)
{
    const uint32_t *found = mt_idmap_find(&g->temporary, stack);
    if (found) {
        return &g->out->temporary.v[*found];
    }
    struct mt_temporary fresh = {.stack = stack};
    if (!mt_vec_push(&g->out->temporary, fresh) ||
        !mt_idmap_put(&g->temporary, stack, (uint32_t)g->out->temporary.n - 1)) {
        return NULL;
    }
    return &g->out->temporary.v[g->out->temporary.n - 1];
}

static struct mt_pending *pending_of(struct gather *g, const struct mt_event *alloc)
{
    uint64_t key = (uint64_t)alloc->stack << 16 | alloc->stream;
    const uint32_t *found = mt_idmap_find(&g->pending, key);
    if (found) {
        return &g->out->pending.v[*found];
    }
    struct mt_pending fresh = {.stack = alloc->stack, .stream = alloc->stream};
    if (!mt_vec_push(&g->out->pending, fresh) ||
        !mt_idmap_put(&g->pending, key, (uint32_t)g->out->pending.n - 1)) {
        return NULL;
    }
    return &g->out->pending.v[g->out->pending.n - 1];
}

static bool add_temporary(struct gather *g, uint32_t alloc, uint32_t freed)
{
    const struct mt_event *e = &g->r->events[alloc];
    if (freed - alloc > g->out->within) {
        return true;
    }
    struct mt_temporary *t = temporary_of(g, e->stack);
    if (!t) {
        return false;
    }
    t->count++;
    t->bytes += e->size;
    t->largest = e->size > t->largest ? e->size : t->largest;
    g->out->temporary_count++;
    g->out->temporary_bytes += e->size;
    return true;
}

/* `end`: index of the completion, or MT_NEVER for a block that is pending at the end. */
static bool add_pending(struct gather *g, uint32_t alloc, uint32_t from, uint32_t end)
{
    const struct mt_event *e = &g->r->events[alloc];
    if (end != MT_NEVER && end == from + 1) {
        return true;
    }
    struct mt_pending *p = pending_of(g, e);
    if (!p) {
        return false;
    }
    uint32_t last = end != MT_NEVER ? end : (uint32_t)g->r->n - 1;
    int64_t begin_us = g->r->events[from].time_us;
    int64_t end_us = g->r->events[last].time_us;
    bool timed = begin_us != MT_NO_TIME && end_us > begin_us;
    double byte_seconds = timed ? (double)e->size * ((double)end_us - (double)begin_us) / 1e6 : 0;
    p->count++;
    p->bytes += e->size;
    p->alive_bytes += end == MT_NEVER ? e->size : 0;
    p->byte_seconds += byte_seconds;
    p->longest_events = last - from > p->longest_events ? last - from : p->longest_events;
    g->out->pending_count++;
    g->out->pending_bytes += e->size;
    g->out->pending_byte_seconds += byte_seconds;
    return true;
}

static bool step(struct gather *g, const struct mt_step *at)
{
    uint32_t i = (uint32_t)at->index;
    if (at->kind == MT_STEP_ALLOC) {
        if (!g->f || mt_filtered_event(g->f, g->r->device, i)) {
            g->out->allocs++;
            g->out->alloc_bytes += at->event->size;
        }
        return true;
    }
    bool a_free = at->kind == MT_STEP_FREE || at->kind == MT_STEP_FREE_REQUESTED;
    if (!a_free || at->alloc == MT_NEVER ||
        (g->f && !mt_filtered_event(g->f, g->r->device, at->alloc))) {
        return true;
    }
    if (at->kind == MT_STEP_FREE_REQUESTED) {
        return mt_idmap_put(&g->dropped, at->alloc, i) && add_temporary(g, at->alloc, i);
    }
    uint32_t from;
    if (!mt_idmap_remove(&g->dropped, at->alloc, &from)) {
        return add_temporary(g, at->alloc, i); /* a file without free_requested */
    }
    return add_pending(g, at->alloc, from, i);
}

/* Blocks that were dropped and are still waiting: in the order of their allocation. */
static bool add_still_pending(struct gather *g)
{
    for (uint32_t i = 0; g->dropped.n && i < g->r->n; i++) {
        uint32_t from;
        bool a_drop = mt_event_kind(&g->r->events[i]) == MT_STEP_ALLOC &&
                      mt_idmap_remove(&g->dropped, i, &from);
        if (a_drop && g->r->partner[i] == MT_NEVER && !add_pending(g, i, from, MT_NEVER)) {
            return false;
        }
    }
    return true;
}

static int compare_temporary(const void *a, const void *b)
{
    const struct mt_temporary *x = a;
    const struct mt_temporary *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? 1 : -1;
    }
    return (x->stack > y->stack) - (x->stack < y->stack);
}

static int compare_pending(const void *a, const void *b)
{
    const struct mt_pending *x = a;
    const struct mt_pending *y = b;
    if (x->byte_seconds != y->byte_seconds) {
        return x->byte_seconds < y->byte_seconds ? 1 : -1;
    }
    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? 1 : -1;
    }
    if (x->stack != y->stack) {
        return x->stack < y->stack ? -1 : 1;
    }
    return (x->stream > y->stream) - (x->stream < y->stream);
}

enum mt_status mt_lifetimes_find(struct mt_lifetimes *out, const struct mt_replay *r,
                                 struct mt_filtered *f, uint64_t within, struct mt_error *err)
{
    *out = (struct mt_lifetimes){.within = within};
    struct gather g = {.r = r, .f = f, .out = out};
    struct mt_step at;
    bool ok = true;
    mt_replay_begin(r, &at);
    while (ok && mt_replay_next(r, &at)) {
        ok = step(&g, &at);
    }
    ok = ok && add_still_pending(&g);
    mt_idmap_release(&g.temporary);
    mt_idmap_release(&g.pending);
    mt_idmap_release(&g.dropped);
    if (out->temporary.n) {
        qsort(out->temporary.v, out->temporary.n, sizeof *out->temporary.v, compare_temporary);
    }
    if (out->pending.n) {
        qsort(out->pending.v, out->pending.n, sizeof *out->pending.v, compare_pending);
    }
    return ok ? MT_OK : mt_fail_nomem(err);
}

void mt_lifetimes_release(struct mt_lifetimes *l)
{
    mt_vec_release(&l->temporary);
    mt_vec_release(&l->pending);
    *l = (struct mt_lifetimes){0};
}
