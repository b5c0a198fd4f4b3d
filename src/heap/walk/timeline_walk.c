/* SPDX-License-Identifier: MIT */
/*
 * Turns the steps of a replay into changes by stack. For allocations a step changes at most two
 * stacks. For segments the reserved ranges are kept sorted by address, because an unmap may take
 * part of one mapping or of several; genuine files have a few thousand of them.
 */
#include "heap/walk/timeline_walk.h"
#include "snapshot/model/device_segments.h"

#include <string.h>

static void change(struct mt_walk *w, uint32_t slot, int count, uint64_t up, uint64_t down)
{
    if (down > w->total + up) {
        down = w->total + up; /* an inconsistent trace: never below nothing */
    }
    w->total += up - down;
    struct mt_change c = {slot, count, (int64_t)(up - down)};
    w->failed |= !mt_vec_push(&w->changes, c);
}

/* ---- allocations ---- */

static bool alloc_counts(const struct mt_walk *w, uint32_t alloc)
{
    bool freed = w->r->partner[alloc] != MT_NEVER;
    if ((w->o->live_only && freed) || (w->o->freed_only && !freed)) {
        return false;
    }
    return !w->o->filter || mt_filtered_event(w->o->filter, w->r->device, alloc);
}

static bool ghost_counts(const struct mt_walk *w, const struct mt_ghost *g)
{
    bool freed = g->freed != MT_NEVER;
    if ((w->o->live_only && freed) || (w->o->freed_only && !freed)) {
        return false;
    }
    if (!w->o->filter) {
        return true;
    }
    if (g->block != MT_NEVER) {
        return mt_filtered_block(w->o->filter, &w->r->snapshot->blocks[g->block]);
    }
    return mt_filtered_event(w->o->filter, w->r->device, g->freed);
}

static uint32_t ghost_slot(const struct mt_walk *w, const struct mt_ghost *g)
{
    bool known = g->stack != 0 || w->r->n == 0;
    return w->ghost_stacks && known && g->stack < w->older ? g->stack : w->older;
}

static void begin_memory(struct mt_walk *w)
{
    for (size_t i = 0; i < w->r->ghosts.n; i++) {
        const struct mt_ghost *g = &w->r->ghosts.v[i];
        if (ghost_counts(w, g)) {
            change(w, ghost_slot(w, g), 1, g->size, 0);
        }
    }
}

static void drop(struct mt_walk *w, uint32_t alloc)
{
    const struct mt_event *e = &w->r->events[alloc];
    if (alloc_counts(w, alloc)) {
        change(w, e->stack, -1, 0, e->size);
    }
}

static void step_memory(struct mt_walk *w)
{
    const struct mt_step *at = &w->at;
    if (at->kind == MT_STEP_ALLOC) {
        if (at->alloc != MT_NEVER) {
            drop(w, at->alloc);
        }
        if (alloc_counts(w, (uint32_t)at->index)) {
            change(w, at->event->stack, 1, at->event->size, 0);
        }
    } else if (at->kind == MT_STEP_FREE && at->alloc != MT_NEVER) {
        drop(w, at->alloc);
    } else if (at->kind == MT_STEP_FREE && at->ghost < w->r->ghosts.n) {
        const struct mt_ghost *g = &w->r->ghosts.v[at->ghost];
        if (ghost_counts(w, g)) {
            change(w, ghost_slot(w, g), -1, 0, at->event->size);
        }
    }
}

/* ---- segments ---- */

/* What was reserved before; of a file without events all segments, by the stacks they have. */
static void begin_segments(struct mt_walk *w)
{
    const struct mt_snapshot *s = w->r->snapshot;
    if (!w->ghost_stacks || w->r->n > 0) {
        if (w->r->start_reserved) {
            change(w, w->older, 1, w->r->start_reserved, 0);
        }
        return;
    }
    struct mt_device_segments walk = mt_device_segments(s, w->r->device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        if (!w->o->filter || mt_filtered_segment(w->o->filter, g)) {
            change(w, g->stack, 1, g->total_size, 0);
        }
    }
}

/* Index of the first run that ends behind addr. */
static size_t run_search(const struct mt_walk *w, uint64_t addr)
{
    size_t lo = 0, hi = w->runs.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (w->runs.v[mid].end > addr) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo;
}

static void run_insert(struct mt_walk *w, size_t at, struct mt_walk_run run)
{
    if (!mt_vec_reserve(&w->runs, w->runs.n + 1)) {
        w->failed = true;
        return;
    }
    memmove(w->runs.v + at + 1, w->runs.v + at, (w->runs.n - at) * sizeof *w->runs.v);
    w->runs.v[at] = run;
    w->runs.n++;
}

static void run_remove(struct mt_walk *w, size_t at, size_t n)
{
    memmove(w->runs.v + at, w->runs.v + at + n, (w->runs.n - at - n) * sizeof *w->runs.v);
    w->runs.n -= n;
}

/* Takes [lo, hi) out; what no run covers was reserved before the trace. */
static void run_cut(struct mt_walk *w, uint64_t lo, uint64_t hi)
{
    uint64_t known = 0;
    size_t i = run_search(w, lo);
    while (i < w->runs.n && w->runs.v[i].addr < hi) {
        struct mt_walk_run *run = &w->runs.v[i];
        struct mt_walk_run tail = {hi, run->end, run->slot};
        uint64_t from = run->addr > lo ? run->addr : lo, to = run->end < hi ? run->end : hi;
        bool whole = from == run->addr && to == run->end;
        change(w, run->slot, whole ? -1 : 0, 0, to - from);
        known += to - from;
        if (run->addr < lo) {
            run->end = lo;
            i++;
        } else {
            run_remove(w, i, 1);
        }
        if (tail.end > hi) {
            run_insert(w, i++, tail);
        }
    }
    if (hi - lo > known) {
        change(w, w->older, 0, 0, hi - lo - known);
    }
}

static void step_segments(struct mt_walk *w)
{
    const struct mt_event *e = w->at.event;
    bool reserve = w->at.kind == MT_STEP_RESERVE;
    if ((!reserve && w->at.kind != MT_STEP_RELEASE) || e->size == 0) {
        return;
    }
    if (w->o->filter && !mt_filtered_event(w->o->filter, w->r->device, w->at.index)) {
        return;
    }
    uint64_t end = e->addr > UINT64_MAX - e->size ? UINT64_MAX : e->addr + e->size;
    if (!reserve) {
        run_cut(w, e->addr, end);
        return;
    }
    struct mt_walk_run run = {e->addr, end, e->stack};
    size_t at = run_search(w, e->addr);
    if (at < w->runs.n && w->runs.v[at].addr < end) {
        return; /* reserved twice: the trace lost the release */
    }
    run_insert(w, at, run);
    change(w, e->stack, 1, end - e->addr, 0);
}

/* ---- both ---- */

void mt_walk_begin(struct mt_walk *w, const struct mt_replay *r,
                   const struct mt_timeline_options *o, bool ghost_stacks)
{
    *w = (struct mt_walk){
        .r = r, .o = o, .ghost_stacks = ghost_stacks, .older = (uint32_t)r->snapshot->n_stacks};
    if (w->older == 0) {
        w->older = 1; /* slot 0 is "no stack" in every snapshot */
    }
    mt_replay_begin(r, &w->at);
    if (o->subject == MT_TIMELINE_MEMORY) {
        begin_memory(w);
    } else {
        begin_segments(w);
    }
}

bool mt_walk_next(struct mt_walk *w)
{
    w->changes.n = 0;
    if (w->failed || !mt_replay_next(w->r, &w->at)) {
        return false;
    }
    if (w->o->subject == MT_TIMELINE_MEMORY) {
        step_memory(w);
    } else {
        step_segments(w);
    }
    return !w->failed;
}

void mt_walk_release(struct mt_walk *w)
{
    mt_vec_release(&w->changes);
    mt_vec_release(&w->runs);
}
