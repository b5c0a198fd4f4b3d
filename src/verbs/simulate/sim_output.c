/* SPDX-License-Identifier: MIT */
/*
 * A run as a snapshot: the original file with the events, segments and blocks of one device
 * replaced by those of the run, so that every other verb reads it. Stacks, strings and times are
 * those of the events that the run replayed.
 */
#include "snapshot/model/device_segments.h"
#include "torch/keys.h"
#include "verbs/simulate/sim.h"

static const uint8_t ACTIONS[] = {
    [MT_ALLOC_EVENT_ALLOC] = MT_ACTION_ALLOC,
    [MT_ALLOC_EVENT_FREE_REQUESTED] = MT_ACTION_FREE_REQUESTED,
    [MT_ALLOC_EVENT_FREE_COMPLETED] = MT_ACTION_FREE_COMPLETED,
    [MT_ALLOC_EVENT_SEGMENT_ALLOC] = MT_ACTION_SEGMENT_ALLOC,
    [MT_ALLOC_EVENT_SEGMENT_FREE] = MT_ACTION_SEGMENT_FREE,
    [MT_ALLOC_EVENT_SEGMENT_MAP] = MT_ACTION_SEGMENT_MAP,
    [MT_ALLOC_EVENT_SEGMENT_UNMAP] = MT_ACTION_SEGMENT_UNMAP,
    [MT_ALLOC_EVENT_OOM] = MT_ACTION_OOM,
};

#define ADDR_BIT (1u << MT_EVENT_KEY_addr)
#define FREE_BIT (1u << MT_EVENT_KEY_device_free)

/* ---- shapes: which keys an event shows ---- */

/* Shapes for the run's own events, made from that of the first event: with "addr", and with
 * "device_free" in its place for refusals; each action prefers the shape that the file gives it. */
static enum mt_status make_shapes(struct sim_recorder *r, struct mt_view *view,
                                  struct mt_error *err)
{
    const struct mt_sim *sim = r->sim;
    struct mt_snapshot *s = &view->s;
    size_t n = s->n_event_shapes;
    struct mt_event_shape *shapes = mt_view_alloc(view, n + 2, sizeof *shapes);
    if (!shapes) {
        return mt_fail_nomem(err);
    }
    memcpy(shapes, s->event_shapes, n * sizeof *shapes);
    struct mt_event_shape plain = shapes[sim->events[0].shape];
    plain.action_name = 0;
    plain.present = (plain.present & ~FREE_BIT) | ADDR_BIT;
    struct mt_event_shape oom = plain;
    oom.present = (oom.present & ~ADDR_BIT) | FREE_BIT;
    bool room = n + 1 <= UINT8_MAX;
    shapes[n] = plain;
    shapes[n + 1] = oom;
    for (size_t i = 0; i < MT_ACTION_COUNT; i++) {
        r->shapes[i] = room ? (uint8_t)(i == MT_ACTION_OOM ? n + 1 : n) : sim->events[0].shape;
    }
    for (size_t i = sim->n; i-- > 0;) {
        r->shapes[sim->events[i].action] = sim->events[i].shape;
    }
    s->event_shapes = shapes;
    s->n_event_shapes = room ? n + 2 : n;
    return MT_OK;
}

enum mt_status mt_sim_recorder_init(struct sim_recorder *r, const struct mt_sim *sim,
                                    struct mt_sim_output *output, struct mt_error *err)
{
    *r = (struct sim_recorder){.sim = sim};
    mt_view_init(&output->view, sim->snapshot);
    enum mt_status status = make_shapes(r, &output->view, err);
    if (status == MT_OK && !mt_vec_reserve(&r->events, sim->n)) {
        status = mt_fail_nomem(err);
    }
    if (status != MT_OK) {
        mt_view_release(&output->view);
    }
    return status;
}

static void append(struct sim_recorder *r, const struct mt_event *e)
{
    if (r->events.n >= UINT32_MAX - 1 || !mt_vec_push(&r->events, *e)) {
        r->failed = true;
    }
}

/* The snapshot's index of a stream; the runs use no others. */
static uint16_t stream_index(const struct mt_snapshot *s, uint64_t handle)
{
    size_t i = 0;
    while (i < s->n_streams && s->streams[i].handle != handle) {
        i++;
    }
    return (uint16_t)(i < s->n_streams ? i : 0);
}

void mt_sim_recorder_event(struct sim_recorder *r, const struct mt_alloc_event *e, size_t now)
{
    const struct mt_sim *sim = r->sim;
    uint8_t action = ACTIONS[e->kind];
    /* A free that completes at once is the next event of the recording. */
    if (e->kind == MT_ALLOC_EVENT_FREE_COMPLETED && now + 1 < sim->n &&
        sim->events[now].action == MT_ACTION_FREE_REQUESTED &&
        sim->events[now + 1].action == MT_ACTION_FREE_COMPLETED) {
        now++;
    }
    const struct mt_event *at = &sim->events[now];
    bool own_stream = sim->snapshot->streams[at->stream].handle == e->stream;
    struct mt_event out = {.addr = e->addr,
                           .size = e->size,
                           .time_us = at->time_us,
                           .stack = at->stack,
                           .stream =
                               own_stream ? at->stream : stream_index(sim->snapshot, e->stream),
                           .action = action,
                           .shape = r->shapes[action]};
    append(r, &out);
}

void mt_sim_recorder_copy(struct sim_recorder *r, size_t event)
{
    append(r, &r->sim->events[event]);
}

/* ---- the end: segments and blocks ---- */

struct lists {
    const struct mt_sim *sim;
    MT_VEC(struct mt_segment) segments;
    MT_VEC(struct mt_block) blocks;
    uint32_t segment_present;
    uint16_t block_present;
    bool failed;
};

static bool add_segment(void *ctx, const struct mt_alloc_segment_view *v)
{
    struct lists *l = ctx;
    struct mt_segment s = {.addr = v->addr,
                           .total_size = v->size,
                           .allocated_size = v->allocated,
                           .active_size = v->active,
                           .requested_size = v->requested,
                           .pool = {v->pool.a, v->pool.b},
                           .device = l->sim->device,
                           .stack = real_stack(l->sim, v->stack),
                           .first_block = (uint32_t)l->blocks.n,
                           .n_blocks = (uint32_t)v->n_blocks,
                           .stream = stream_index(l->sim->snapshot, v->stream),
                           .kind = v->small ? MT_POOL_SMALL : MT_POOL_LARGE,
                           .expandable = v->expandable,
                           .present = l->segment_present};
    l->failed = l->blocks.n >= UINT32_MAX - v->n_blocks || !mt_vec_push(&l->segments, s);
    return !l->failed;
}

static bool add_block(void *ctx, const struct mt_alloc_block_view *v)
{
    static const uint8_t states[] = {MT_BLOCK_INACTIVE, MT_BLOCK_ALLOCATED, MT_BLOCK_PENDING};
    struct lists *l = ctx;
    struct mt_block b = {.addr = v->addr,
                         .size = v->size,
                         .requested = v->requested,
                         .stack = real_stack(l->sim, v->stack),
                         .segment = (uint32_t)(l->segments.n - 1),
                         .state = states[v->state],
                         .present = l->block_present};
    l->failed = !mt_vec_push(&l->blocks, b);
    return !l->failed;
}

/* The keys that this file gives its segments and blocks; all modern ones when it has none. */
static void find_keys(struct lists *l)
{
    const struct mt_snapshot *s = l->sim->snapshot;
    l->segment_present = (1u << MT_SEGMENT_KEY_COUNT) - 1;
    l->block_present = (1u << MT_BLOCK_KEY_history) - 1;
    struct mt_device_segments walk = mt_device_segments(s, l->sim->device);
    for (const struct mt_segment *g; (g = mt_device_segments_next(&walk)) != NULL;) {
        if (g->n_blocks > 0) {
            l->segment_present = g->present | 1u << MT_SEGMENT_KEY_is_expandable;
            l->block_present =
                (uint16_t)(s->blocks[g->first_block].present & ~(1u << MT_BLOCK_KEY_history));
            return;
        }
    }
}

/* A copy of a segment's blocks, for the segment of that index; false: no memory. */
static bool copy_blocks(struct lists *l, struct mt_segment *g, size_t index)
{
    const struct mt_block *from = MT_PART(l->sim->snapshot->blocks, g->first_block);
    g->first_block = (uint32_t)l->blocks.n;
    for (uint32_t k = 0; k < g->n_blocks; k++) {
        struct mt_block b = from[k];
        b.segment = (uint32_t)index;
        if (!mt_vec_push(&l->blocks, b)) {
            return false;
        }
    }
    return true;
}

/* The other devices keep what they have. */
static bool add_others(struct lists *l)
{
    const struct mt_snapshot *s = l->sim->snapshot;
    for (size_t i = 0; i < s->n_segments; i++) {
        struct mt_segment g = s->segments[i];
        if (g.device == l->sim->device) {
            continue;
        }
        if (!copy_blocks(l, &g, l->segments.n) || !mt_vec_push(&l->segments, g)) {
            return false;
        }
    }
    return true;
}

/* So does pinned memory. */
static bool add_host(struct lists *l, struct mt_view *view)
{
    struct mt_snapshot *s = &view->s;
    struct mt_segment *segments =
        mt_view_copy(view, s->host_segments, s->n_host_segments, sizeof *segments);
    bool ok = segments != NULL;
    for (size_t i = 0; i < s->n_host_segments && ok; i++) {
        ok = copy_blocks(l, &segments[i], i);
    }
    s->host_segments = segments;
    return ok;
}

static enum mt_status put_segments(struct sim_recorder *r, const struct mt_alloc *a,
                                   struct mt_view *view, struct mt_error *err)
{
    struct lists l = {.sim = r->sim};
    find_keys(&l);
    struct mt_alloc_visitor visitor = {add_segment, add_block, &l};
    struct mt_snapshot *s = &view->s;
    enum mt_status status =
        add_others(&l) && add_host(&l, view) ? mt_alloc_walk(a, &visitor, err) : mt_fail_nomem(err);
    if (status == MT_OK) {
        mt_snapshot_set_segments(
            s, mt_view_copy(view, l.segments.v, l.segments.n, sizeof *l.segments.v), l.segments.n);
        s->blocks = mt_view_copy(view, l.blocks.v, l.blocks.n, sizeof *l.blocks.v);
        s->n_blocks = l.blocks.n;
        if (l.failed || !s->segments || !s->blocks || !mt_view_forget_records(view, s)) {
            status = mt_fail_nomem(err);
        }
    }
    mt_vec_release(&l.segments);
    mt_vec_release(&l.blocks);
    return status;
}

/* ---- the end: events ---- */

/* One trace behind those that are there already. */
static void put_trace(struct mt_snapshot *s, struct mt_event *events, struct mt_trace *t,
                      const struct mt_event *from, size_t n)
{
    if (n) {
        memcpy(events + s->n_events, from, n * sizeof *events);
    }
    *t = (struct mt_trace){s->n_events, n};
    s->n_events += n;
}

static enum mt_status put_events(struct sim_recorder *r, struct mt_view *view, struct mt_error *err)
{
    struct mt_snapshot *s = &view->s;
    const struct mt_snapshot *old = r->sim->snapshot;
    size_t device = (size_t)r->sim->device;
    size_t n = mt_snapshot_n_traced(old) - old->traces[device].n + r->events.n;
    struct mt_event *events = mt_view_alloc(view, n, sizeof *events);
    struct mt_trace *traces = mt_view_alloc(view, old->n_traces, sizeof *traces);
    struct mt_trace *host_traces = mt_view_alloc(view, old->n_host_traces, sizeof *host_traces);
    if (r->failed || !events || !traces || !host_traces) {
        return mt_fail_nomem(err);
    }
    s->n_events = 0;
    for (size_t i = 0; i < old->n_traces; i++) {
        bool own = i == device;
        put_trace(s, events, &traces[i],
                  own ? r->events.v : MT_PART(old->events, old->traces[i].first),
                  own ? r->events.n : old->traces[i].n);
    }
    for (size_t i = 0; i < old->n_host_traces; i++) {
        put_trace(s, events, &host_traces[i], MT_PART(old->events, old->host_traces[i].first),
                  old->host_traces[i].n);
    }
    for (size_t i = 0; i < MT_COLUMN_COUNT; i++) {
        s->columns[i] = NULL;
    }
    s->events = events;
    s->traces = traces;
    s->host_traces = host_traces;
    return MT_OK;
}

enum mt_status mt_sim_recorder_finish(struct sim_recorder *r, const struct mt_alloc *a,
                                      struct mt_sim_output *output, struct mt_error *err)
{
    enum mt_status status = put_events(r, &output->view, err);
    if (status == MT_OK) {
        status = put_segments(r, a, &output->view, err);
    }
    if (status != MT_OK) {
        mt_view_release(&output->view);
    }
    return status;
}

void mt_sim_recorder_release(struct sim_recorder *r)
{
    mt_vec_release(&r->events);
}
