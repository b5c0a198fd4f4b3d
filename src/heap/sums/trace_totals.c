/* SPDX-License-Identifier: MIT */
/*
 * One pass over the events of a device, without a map of what is alive. Whether anything existed
 * before the first event follows from three sums: every ghost adds one to (active blocks at the
 * end) - (allocs) + (frees), its bytes to the same difference of bytes; and a sum of hashes of
 * (address, size) tells a trace whose figures only happen to agree.
 *
 * A request was a miss when the driver was called since the last one: PyTorch records segment_alloc
 * or segment_map just before the alloc that they serve. A release of cached memory followed by such
 * a call may be a retry, or a garbage collection, or empty_cache by the program: then the number of
 * retries is not known from the trace alone. Before every out-of-memory error stands exactly one.
 */
#include "heap/sums/trace_totals.h"
#include "heap/walk/cut_trace.h"
#include "snapshot/model/settings.h"
#include "snapshot/model/device_segments.h"
#include "support/checked.h"
#include "support/hash.h"

struct scan {
    struct mt_trace_totals t;
    uint64_t allocs[MT_SIZE_CLASSES];
    uint64_t freed;        /* free_completed and free events */
    uint64_t bytes_in;     /* requested bytes of alloc, mod 2^64 */
    uint64_t bytes_out;    /* of free_completed */
    uint64_t reserved_in;  /* segment_alloc, segment_map */
    uint64_t reserved_out; /* segment_free, segment_unmap */
    uint64_t hashes;       /* of what was allocated - of what was freed */
    bool called, released; /* the driver, since the last alloc or oom */
    bool doubt;            /* a release followed by a driver call */
};

static inline unsigned size_class(uint64_t size)
{
    return 63u - (unsigned)__builtin_clzll(size | 1);
}

static inline void scan_event(struct scan *c, const struct mt_event *e)
{
    switch (e->action) {
    case MT_ACTION_ALLOC:
        c->allocs[size_class(e->size)]++;
        c->bytes_in += e->size;
        c->hashes += mt_hash_mix(e->addr, e->size);
        c->t.misses += c->called;
        c->called = c->released = false;
        break;
    case MT_ACTION_FREE_COMPLETED:
    case MT_ACTION_FREE:
        c->freed++;
        c->bytes_out += e->size;
        c->hashes -= mt_hash_mix(e->addr, e->size);
        break;
    case MT_ACTION_SEGMENT_ALLOC:
    case MT_ACTION_SEGMENT_MAP:
        c->reserved_in += e->size;
        c->doubt |= c->released;
        c->called = true;
        break;
    case MT_ACTION_SEGMENT_FREE:
    case MT_ACTION_SEGMENT_UNMAP:
        c->reserved_out += e->size;
        c->released = true;
        break;
    case MT_ACTION_OOM:
        c->t.retries++;
        c->called = c->released = false;
        break;
    case MT_ACTION_FREE_REQUESTED: break;
    case MT_ACTION_OTHER: c->t.other_shapes[e->shape]++; break;
    default: break;
    }
}

/* What is counted of an event that the user wants to see. */
static inline void count_event(struct mt_trace_totals *t, const struct mt_event *e)
{
    t->actions[e->action]++;
    t->with_stack += e->stack != 0;
    t->with_time += e->time_us != MT_NO_TIME;
}

static void scan_all(struct scan *c, const struct mt_event *events, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        count_event(&c->t, &events[i]);
        scan_event(c, &events[i]);
    }
    c->t.events = n;
    c->t.hits = c->t.actions[MT_ACTION_ALLOC] - c->t.misses;
}

static void find_times(struct mt_trace_totals *t, const struct mt_event *events, size_t n)
{
    t->first_us = t->last_us = MT_NO_TIME;
    for (size_t i = 0; i < n && t->first_us == MT_NO_TIME; i++) {
        t->first_us = events[i].time_us;
    }
    for (size_t i = n; i-- > 0 && t->last_us == MT_NO_TIME;) {
        t->last_us = events[i].time_us;
    }
}

/* Compares the ends of the books: the events and the final blocks. */
static void find_start(struct scan *c, struct mt_device_totals *d, const struct mt_snapshot *s)
{
    uint64_t blocks = 0, bytes = 0, reserved = 0, hashes = 0;
    struct mt_device_segments walk = mt_device_segments(s, d->device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        reserved += g->total_size;
        for (uint32_t k = 0; k < g->n_blocks; k++) {
            const struct mt_block *b = &s->blocks[g->first_block + k];
            if (b->state != MT_BLOCK_INACTIVE) {
                blocks++;
                bytes += b->requested;
                hashes += mt_hash_mix(b->addr, b->requested);
            }
        }
    }
    uint64_t allocs = c->t.actions[MT_ACTION_ALLOC];
    int64_t ghosts = (int64_t)(blocks + c->freed - allocs);
    int64_t ghost_bytes = (int64_t)(bytes + c->bytes_out - c->bytes_in);
    int64_t before = (int64_t)(reserved + c->reserved_out - c->reserved_in);
    c->t.complete =
        c->t.events && ghosts == 0 && ghost_bytes == 0 && before == 0 && hashes == c->hashes;
    c->t.ghosts = ghosts > 0 ? (uint64_t)ghosts : 0;
    c->t.ghost_bytes = ghost_bytes > 0 ? (uint64_t)ghost_bytes : 0;
    c->t.start_reserved = before > 0 ? (uint64_t)before : 0;
    c->t.whole = true;
    c->t.complete &= !mt_settings_overflowed(s, c->t.events);
    c->t.retries_known = c->t.complete && !c->doubt;
    if (mt_trace_is_cut(s, d->device) && !s->source.followed) { /* the segments are later */
        c->t.complete = c->t.retries_known = false;
        c->t.ghosts = c->t.ghost_bytes = c->t.start_reserved = 0;
    }
}

/* The filtered view: counts only what passes; facts of the whole trace stay. */
static void scan_some(struct scan *c, struct mt_device_totals *d, struct mt_filtered *f,
                      const struct mt_event *events, size_t n)
{
    struct scan some = {.t.complete = c->t.complete,
                        .t.ghosts = c->t.ghosts,
                        .t.ghost_bytes = c->t.ghost_bytes,
                        .t.start_reserved = c->t.start_reserved,
                        .t.first_us = MT_NO_TIME,
                        .t.last_us = MT_NO_TIME};
    for (size_t i = 0; i < n; i++) {
        const struct mt_event *e = &events[i];
        uint64_t misses = some.t.misses, other = some.t.other_shapes[e->shape];
        scan_event(&some, e);
        if (!mt_filtered_event(f, d->device, i)) {
            some.t.misses = misses;
            some.t.other_shapes[e->shape] = other;
            some.allocs[size_class(e->size)] -= e->action == MT_ACTION_ALLOC;
            continue;
        }
        count_event(&some.t, e);
        some.t.events++;
        some.t.last_us = e->time_us != MT_NO_TIME ? e->time_us : some.t.last_us;
        some.t.first_us = some.t.first_us == MT_NO_TIME ? e->time_us : some.t.first_us;
    }
    some.t.hits = some.t.actions[MT_ACTION_ALLOC] - some.t.misses;
    some.t.retries = 0;
    *c = some;
}

void mt_trace_totals_find(struct mt_device_totals *d, const struct mt_snapshot *s,
                          struct mt_filtered *f)
{
    struct mt_trace trace = mt_device_trace(s, d->device);
    const struct mt_event *events = MT_PART(s->events, trace.first);
    struct scan c = {0};
    scan_all(&c, events, trace.n);
    find_times(&c.t, events, trace.n);
    find_start(&c, d, s);
    if (!mt_filter_is_open(f->filter)) {
        scan_some(&c, d, f, events, trace.n);
    }
    d->trace = c.t;
    for (size_t i = 0; i < MT_SIZE_CLASSES; i++) {
        d->sizes[i].allocs = c.allocs[i];
    }
}
