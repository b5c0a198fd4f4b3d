/* SPDX-License-Identifier: MIT */
/*
 * Pairing and walking. The live map (address -> alloc event) is needed once only: it becomes one
 * 32-bit partner an event, and every later walk is a plain scan. Ghosts are found from both ends: a
 * free of an address that is not alive, and a block of the final segments that no alloc of the
 * trace explains.
 */
#include "heap/walk/replay.h"
#include "snapshot/model/device_segments.h"
#include "support/checked.h"
#include "support/hash.h"

static const uint8_t KIND[MT_ACTION_COUNT] = {
    [MT_ACTION_ALLOC] = MT_STEP_ALLOC,
    [MT_ACTION_FREE_REQUESTED] = MT_STEP_FREE_REQUESTED,
    [MT_ACTION_FREE_COMPLETED] = MT_STEP_FREE,
    [MT_ACTION_FREE] = MT_STEP_FREE,
    [MT_ACTION_SEGMENT_ALLOC] = MT_STEP_RESERVE,
    [MT_ACTION_SEGMENT_MAP] = MT_STEP_RESERVE,
    [MT_ACTION_SEGMENT_FREE] = MT_STEP_RELEASE,
    [MT_ACTION_SEGMENT_UNMAP] = MT_STEP_RELEASE,
};

enum mt_step_kind mt_event_kind(const struct mt_event *e)
{
    return e->action < MT_ACTION_COUNT ? (enum mt_step_kind)KIND[e->action] : MT_STEP_OTHER;
}

struct mt_trace mt_device_trace(const struct mt_snapshot *s, int32_t device)
{
    if (device < 0) {
        return s->n_host_traces ? s->host_traces[0] : (struct mt_trace){0, 0};
    }
    return (size_t)device < s->n_traces ? s->traces[device] : (struct mt_trace){0, 0};
}

/* ---- pairing ---- */

struct pairing {
    struct mt_replay *r;
    struct mt_idmap live;     /* address -> its alloc event */
    struct mt_idmap dropping; /* address of a ghost -> its free_requested event */
};

static bool pair_alloc(struct pairing *p, uint32_t i, const struct mt_event *e)
{
    uint32_t *old = mt_idmap_find(&p->live, e->addr);
    if (!old) {
        return mt_idmap_put(&p->live, e->addr, i);
    }
    struct mt_overwrite o = {i, *old};
    p->r->partner[*old] = i;
    *old = i;
    return mt_vec_push(&p->r->overwrites, o);
}

static bool pair_ghost_free(struct pairing *p, uint32_t i, const struct mt_event *e)
{
    struct mt_ghost g = {e->addr, e->size, MT_NEVER, i, MT_NEVER, 0};
    (void)mt_idmap_remove(&p->dropping, e->addr, &g.requested);
    p->r->ghost_bytes = mt_add_sat(p->r->ghost_bytes, g.size);
    return mt_vec_push(&p->r->ghosts, g);
}

static bool pair_event(struct pairing *p, uint32_t i, const struct mt_event *e)
{
    uint32_t *found;
    switch (mt_event_kind(e)) {
    case MT_STEP_ALLOC: return pair_alloc(p, i, e);
    case MT_STEP_FREE_REQUESTED:
        found = mt_idmap_find(&p->live, e->addr);
        if (!found) {
            return mt_idmap_put(&p->dropping, e->addr, i);
        }
        p->r->partner[i] = *found;
        return true;
    case MT_STEP_FREE:
        if (!mt_idmap_remove(&p->live, e->addr, &p->r->partner[i])) {
            return pair_ghost_free(p, i, e);
        }
        p->r->partner[p->r->partner[i]] = i;
        return true;
    default: return true;
    }
}

/* The blocks of the final segments that no event of the trace explains. */
static bool pair_segment(struct pairing *p, const struct mt_segment *segment)
{
    struct mt_replay *r = p->r;
    if (mt_source_has_reserved(&r->snapshot->source)) {
        r->end_reserved = mt_add_sat(r->end_reserved, segment->total_size);
    }
    for (uint32_t i = 0; i < segment->n_blocks; i++) {
        uint32_t at = segment->first_block + i;
        const struct mt_block *b = &r->snapshot->blocks[at];
        if (b->state == MT_BLOCK_INACTIVE || mt_idmap_find(&p->live, b->addr)) {
            continue;
        }
        struct mt_ghost g = {b->addr, b->requested, MT_NEVER, MT_NEVER, at, b->stack};
        (void)mt_idmap_remove(&p->dropping, b->addr, &g.requested);
        r->ghost_bytes = mt_add_sat(r->ghost_bytes, g.size);
        if (!mt_vec_push(&r->ghosts, g)) {
            return false;
        }
    }
    return true;
}

static bool pair_all(struct pairing *p)
{
    struct mt_replay *r = p->r;
    for (size_t i = 0; i < r->n; i++) {
        if (!pair_event(p, (uint32_t)i, &r->events[i])) {
            return false;
        }
    }
    struct mt_device_segments walk = mt_device_segments(r->snapshot, r->device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        if (!pair_segment(p, g)) {
            return false;
        }
    }
    return true;
}

/* What was reserved before: the end, with the trace undone; 0 when the file does not add up. And
 * what only a walk tells: the end, and where the peak is. */
static void find_start(struct mt_replay *r)
{
    uint64_t more = 0, less = 0, alive = r->ghost_bytes;
    for (size_t i = 0; i < r->n; i++) {
        const struct mt_event *e = &r->events[i];
        enum mt_step_kind kind = mt_event_kind(e);
        more += kind == MT_STEP_RESERVE ? e->size : 0;
        less += kind == MT_STEP_RELEASE ? e->size : 0;
    }
    uint64_t before = r->end_reserved + less;
    r->start_reserved = before > more ? before - more : 0;
    struct mt_step at;
    mt_replay_begin(r, &at);
    r->peak_bytes = at.live_bytes;
    while (mt_replay_next(r, &at)) {
        alive = at.live_bytes;
        if (alive > r->peak_bytes) {
            r->peak_bytes = alive;
            r->peak_done = at.index + 1;
        }
    }
    r->end_bytes = alive;
}

enum mt_status mt_replay_init(struct mt_replay *r, const struct mt_snapshot *s, int32_t device,
                              struct mt_error *err)
{
    struct mt_trace t = mt_device_trace(s, device);
    *r = (struct mt_replay){.snapshot = s, .device = device, .events = s->events, .n = t.n};
    if (t.n >= MT_NEVER) {
        return mt_fail(err, MT_LIMIT, MT_NO_OFFSET, "device %d has %zu events; %u are possible",
                       (int)device, t.n, MT_NEVER - 1);
    }
    if (t.n) {
        r->events += t.first;
    }
    struct pairing p = {.r = r};
    r->partner = mt_mem_alloc(t.n ? t.n : 1, sizeof *r->partner);
    bool ok = r->partner != NULL;
    for (size_t i = 0; ok && i < t.n; i++) {
        r->partner[i] = MT_NEVER;
    }
    ok = ok && pair_all(&p);
    mt_idmap_release(&p.live);
    mt_idmap_release(&p.dropping);
    if (!ok) {
        mt_replay_release(r);
        return mt_fail_nomem(err);
    }
    find_start(r);
    return MT_OK;
}

void mt_replay_release(struct mt_replay *r)
{
    mt_mem_free(r->partner);
    mt_vec_release(&r->ghosts);
    mt_vec_release(&r->overwrites);
    *r = (struct mt_replay){0};
}

/* ---- walking ---- */

void mt_replay_begin(const struct mt_replay *r, struct mt_step *at)
{
    *at = (struct mt_step){.index = SIZE_MAX,
                           .alloc = MT_NEVER,
                           .ghost = MT_NEVER,
                           .live_bytes = r->ghost_bytes,
                           .live_count = r->ghosts.n,
                           .reserved_bytes = r->start_reserved};
}

static void forget(struct mt_step *at, uint64_t size)
{
    at->live_bytes -= size < at->live_bytes ? size : at->live_bytes;
    at->live_count -= at->live_count > 0;
}

static void step_alloc(const struct mt_replay *r, struct mt_step *at)
{
    if (at->next_overwrite < r->overwrites.n &&
        r->overwrites.v[at->next_overwrite].event == at->index) {
        at->alloc = r->overwrites.v[at->next_overwrite++].alloc;
        forget(at, r->events[at->alloc].size);
    }
    at->live_bytes = mt_add_sat(at->live_bytes, at->event->size);
    at->live_count++;
}

static void step_free(const struct mt_replay *r, struct mt_step *at)
{
    at->alloc = r->partner[at->index];
    if (at->alloc == MT_NEVER) {
        at->ghost = (uint32_t)at->next_ghost++;
        forget(at, at->event->size);
    } else {
        forget(at, r->events[at->alloc].size);
    }
}

bool mt_replay_next(const struct mt_replay *r, struct mt_step *at)
{
    size_t i = at->index + 1; /* SIZE_MAX + 1 is 0: the first */
    if (i >= r->n) {
        return false;
    }
    const struct mt_event *e = &r->events[i];
    at->index = i;
    at->event = e;
    at->kind = mt_event_kind(e);
    at->alloc = at->ghost = MT_NEVER;
    switch (at->kind) {
    case MT_STEP_ALLOC: step_alloc(r, at); break;
    case MT_STEP_FREE: step_free(r, at); break;
    case MT_STEP_FREE_REQUESTED: at->alloc = r->partner[i]; break;
    case MT_STEP_RESERVE: at->reserved_bytes = mt_add_sat(at->reserved_bytes, e->size); break;
    case MT_STEP_RELEASE:
        at->reserved_bytes -= e->size < at->reserved_bytes ? e->size : at->reserved_bytes;
        break;
    case MT_STEP_OTHER: break;
    }
    return true;
}

static bool is_stackless(const struct mt_snapshot *s, uint32_t stack)
{
    return stack == 0 || s->stacks[stack].n == 0;
}

enum mt_stackless mt_replay_stackless(const struct mt_replay *r)
{
    bool older = false, recorded = false;
    for (size_t i = 0; i < r->ghosts.n && !older; i++) {
        older = is_stackless(r->snapshot, r->ghosts.v[i].stack);
    }
    for (size_t i = 0; i < r->n && !recorded; i++) {
        recorded =
            r->events[i].action == MT_ACTION_ALLOC && is_stackless(r->snapshot, r->events[i].stack);
    }
    return older && recorded ? MT_STACKLESS_ANY
           : older           ? MT_STACKLESS_OLDER
                             : MT_STACKLESS_RECORDED;
}

int64_t mt_replay_span_us(const struct mt_replay *r)
{
    int64_t first = r->n ? r->events[0].time_us : MT_NO_TIME;
    int64_t last = r->n ? r->events[r->n - 1].time_us : MT_NO_TIME;
    return first != MT_NO_TIME && last != MT_NO_TIME ? mt_time_between(first, last) : -1;
}
