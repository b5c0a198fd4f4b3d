/* SPDX-License-Identifier: MIT */
/*
 * Cuts a part out of a snapshot. Events that stay are copied together, each device's trace behind
 * the other, with their rare columns. A trace that loses its end gets the segments of that moment,
 * from the same undoing of events that draws the allocator at any event: so the part is a snapshot
 * as if it had been taken then.
 */
#include "heap/walk/slice.h"

#include <string.h>

#include "snapshot/model/device_segments.h"
#include "torch/keys.h"
#include "heap/walk/state.h"

/* What PyTorch writes for every segment and block. */
#define SEGMENT_KEYS ((1u << MT_SEGMENT_KEY_COUNT) - 1)
#define BLOCK_KEYS ((1u << MT_BLOCK_KEY_history) - 1)

/* In slicing.until: neither events nor segments of the device stay. */
#define NOTHING SIZE_MAX

struct slicing {
    struct mt_view *view;
    const size_t *until; /* per trace: events from there on go; NULL: none for that reason */
    bool only_traced;    /* devices without a trace go too */
    struct mt_filtered filtered;
    struct mt_event *events;
    uint32_t *columns[MT_COLUMN_COUNT];
    size_t n_events;
    size_t *end; /* per device: events of the old trace up to the last that stays, SIZE_MAX: all */
    MT_VEC(struct mt_segment) segments;
    MT_VEC(struct mt_block) blocks;
    MT_VEC(struct mt_annotation) annotations;
};

/* ---- events ---- */

static void keep_event(struct slicing *c, size_t index)
{
    const struct mt_snapshot *s = &c->view->s;
    c->events[c->n_events] = s->events[index];
    for (int k = 0; k < MT_COLUMN_COUNT; k++) {
        if (s->columns[k]) {
            c->columns[k][c->n_events] = s->columns[k][index];
        }
    }
    c->n_events++;
}

static void slice_trace(struct slicing *c, const struct mt_trace *from, int32_t device,
                        struct mt_trace *to, size_t *end)
{
    size_t last = 0, until = c->until ? c->until[device] : from->n;
    to->first = c->n_events;
    for (size_t i = 0; i < from->n && i < until && until != NOTHING; i++) {
        if (mt_filtered_event(&c->filtered, device, i)) {
            keep_event(c, from->first + i);
            last = i + 1;
        }
    }
    to->n = c->n_events - to->first;
    *end = last == from->n ? SIZE_MAX : last;
}

static bool make_room(struct slicing *c)
{
    struct mt_view *v = c->view;
    size_t n = mt_snapshot_n_traced(&v->s);
    c->events = mt_view_alloc(v, n, sizeof *c->events);
    c->end = mt_view_alloc(v, v->s.n_traces, sizeof *c->end);
    bool ok = c->events && c->end;
    for (int k = 0; k < MT_COLUMN_COUNT && ok; k++) {
        if (v->s.columns[k]) {
            c->columns[k] = mt_view_alloc(v, n, sizeof(uint32_t));
            ok = c->columns[k] != NULL;
        }
    }
    return ok;
}

/* Pinned memory has no device: it goes when one is chosen, and its state at another moment than the
 * dump is not known. */
static bool has_host(const struct slicing *c)
{
    return c->filtered.filter->device < 0 && !c->until;
}

/* Old traces stay in *traces until the segments are done. */
static bool slice_events(struct slicing *c, struct mt_trace **traces, struct mt_trace **host_traces)
{
    const struct mt_snapshot *s = &c->view->s;
    *traces = mt_view_alloc(c->view, s->n_traces, sizeof **traces);
    *host_traces = mt_view_alloc(c->view, s->n_host_traces, sizeof **host_traces);
    if (!*traces || !*host_traces || !make_room(c)) {
        return false;
    }
    for (size_t d = 0; d < s->n_traces; d++) {
        slice_trace(c, &s->traces[d], (int32_t)d, &(*traces)[d], &c->end[d]);
    }
    bool host = has_host(c);
    for (size_t d = 0; d < s->n_host_traces; d++) {
        (*host_traces)[d] = (struct mt_trace){c->n_events, 0};
        for (size_t i = 0; host && i < s->host_traces[d].n; i++) {
            keep_event(c, s->host_traces[d].first + i);
            (*host_traces)[d].n++;
        }
    }
    return true;
}

/* ---- segments ---- */

static bool keep_segment(struct slicing *c, const struct mt_segment *from,
                         const struct mt_block *blocks)
{
    struct mt_segment g = *from;
    g.first_block = (uint32_t)c->blocks.n;
    for (uint32_t i = 0; i < g.n_blocks; i++) {
        struct mt_block b = blocks[i];
        b.segment = (uint32_t)c->segments.n;
        if (!mt_vec_push(&c->blocks, b)) {
            return false;
        }
    }
    return mt_vec_push(&c->segments, g);
}

/* A segment of a past state: its sums are counted anew, and it has the keys that a dump of that
 * moment would have had. */
static bool keep_past_segment(struct slicing *c, const struct mt_segment *from,
                              struct mt_block *blocks)
{
    struct mt_segment g = *from;
    g.allocated_size = g.active_size = g.requested_size = 0;
    for (uint32_t i = 0; i < g.n_blocks; i++) {
        struct mt_block *b = &blocks[i];
        bool active = b->state != MT_BLOCK_INACTIVE;
        g.allocated_size += b->state == MT_BLOCK_ALLOCATED ? b->size : 0;
        g.active_size += active ? b->size : 0;
        g.requested_size += active ? b->requested : 0;
        b->present |= BLOCK_KEYS;
        b->stack = active ? b->stack : 0;
    }
    g.present |= SEGMENT_KEYS;
    return keep_segment(c, &g, blocks);
}

static enum mt_status slice_past(struct slicing *c, size_t device, struct mt_error *err)
{
    struct mt_state st;
    MT_TRY(mt_state_at(&c->view->s, device, c->end[device], &st, err));
    bool ok = true;
    for (size_t i = 0; i < st.n_segments && ok; i++) {
        if (mt_filtered_segment(&c->filtered, &st.segments[i])) {
            ok = keep_past_segment(c, &st.segments[i],
                                   MT_PART(st.blocks, st.segments[i].first_block));
        }
    }
    mt_state_release(&st);
    return ok ? MT_OK : mt_fail_nomem(err);
}

/* Whether the device stays at all. */
static bool is_wanted(const struct slicing *c, int32_t device)
{
    if (!c->until || device < 0) {
        return true;
    }
    return (size_t)device < c->view->s.n_traces ? c->until[device] != NOTHING : !c->only_traced;
}

static bool is_past(const struct slicing *c, int32_t device)
{
    return device >= 0 && (size_t)device < c->view->s.n_traces && c->end[device] != SIZE_MAX;
}

static enum mt_status slice_segments(struct slicing *c, struct mt_error *err)
{
    const struct mt_snapshot *s = &c->view->s;
    for (size_t d = 0; d < s->n_traces; d++) {
        if (is_past(c, (int32_t)d) && is_wanted(c, (int32_t)d) &&
            mt_filtered_device(&c->filtered, (int32_t)d)) {
            MT_TRY(slice_past(c, d, err));
        }
    }
    for (size_t i = 0; i < s->n_segments; i++) {
        const struct mt_segment *g = &s->segments[i];
        if (!is_past(c, g->device) && is_wanted(c, g->device) &&
            mt_filtered_segment(&c->filtered, g) &&
            !keep_segment(c, g, MT_PART(s->blocks, g->first_block))) {
            return mt_fail_nomem(err);
        }
    }
    return MT_OK;
}

/* The blocks follow those of the devices. */
static bool slice_host_segments(struct slicing *c, struct mt_segment **out, size_t *n)
{
    const struct mt_snapshot *s = &c->view->s;
    *n = has_host(c) ? s->n_host_segments : 0;
    *out = mt_view_copy(c->view, s->host_segments, *n, sizeof **out);
    if (!*out) {
        return false;
    }
    for (size_t i = 0; i < *n; i++) {
        uint32_t from = (*out)[i].first_block;
        (*out)[i].first_block = (uint32_t)c->blocks.n;
        for (uint32_t k = 0; k < (*out)[i].n_blocks; k++) {
            if (!mt_vec_push(&c->blocks, s->blocks[from + k])) {
                return false;
            }
        }
    }
    return true;
}

/* ---- annotations ---- */

/* Annotations stay where the device's remaining events cover their time; where events have no time,
 * all of the device's. */
static bool slice_annotations(struct slicing *c, const struct mt_trace *traces)
{
    const struct mt_snapshot *s = &c->view->s;
    for (size_t i = 0; i < s->n_annotations; i++) {
        const struct mt_annotation *a = &s->annotations[i];
        if (!mt_filtered_device(&c->filtered, a->device)) {
            continue;
        }
        bool inside = true;
        if (a->device >= 0 && (size_t)a->device < s->n_traces) {
            const struct mt_trace *old = &s->traces[a->device], *t = &traces[a->device];
            bool cut = t->n < old->n;
            int64_t from = t->n ? c->events[t->first].time_us : MT_NO_TIME;
            int64_t to = t->n ? c->events[t->first + t->n - 1].time_us : MT_NO_TIME;
            inside =
                !cut || (t->n && (from == MT_NO_TIME || (a->time_us >= from && a->time_us <= to)));
        }
        if (inside && !mt_vec_push(&c->annotations, *a)) {
            return false;
        }
    }
    return true;
}

/* ---- the rest ---- */

static bool own(struct slicing *c, struct mt_snapshot *s)
{
    struct mt_view *v = c->view;
    mt_snapshot_set_segments(s, mt_view_copy(v, c->segments.v, c->segments.n, sizeof *s->segments),
                             c->segments.n);
    s->blocks = mt_view_copy(v, c->blocks.v, c->blocks.n, sizeof *s->blocks);
    s->annotations = mt_view_copy(v, c->annotations.v, c->annotations.n, sizeof *s->annotations);
    s->n_blocks = c->blocks.n;
    s->n_annotations = c->annotations.n;
    s->events = c->events;
    s->n_events = c->n_events;
    for (int k = 0; k < MT_COLUMN_COUNT; k++) {
        s->columns[k] = c->columns[k];
    }
    return s->segments && s->blocks && s->annotations;
}

static enum mt_status slice(struct slicing *c, struct mt_error *err)
{
    struct mt_snapshot out = c->view->s;
    struct mt_trace *traces, *host_traces;
    struct mt_segment *host_segments;
    if (!slice_events(c, &traces, &host_traces)) {
        return mt_fail_nomem(err);
    }
    MT_TRY(slice_segments(c, err));
    if (!slice_host_segments(c, &host_segments, &out.n_host_segments) ||
        !slice_annotations(c, traces) || !mt_view_forget_records(c->view, &out) || !own(c, &out)) {
        return mt_fail_nomem(err);
    }
    out.traces = traces;
    out.host_traces = host_traces;
    out.host_segments = host_segments;
    c->view->s = out;
    return MT_OK;
}

static enum mt_status slice_through(struct slicing *c, const struct mt_filter *filter,
                                    struct mt_error *err)
{
    struct mt_snapshot original = c->view->s; /* the filter looks at it while view->s changes */
    enum mt_status status = mt_filtered_init(&c->filtered, filter, &original, err);
    if (status == MT_OK) {
        status = mt_filtered_check(&c->filtered, false, err);
    }
    if (status == MT_OK) {
        status = slice(c, err);
    }
    mt_filtered_release(&c->filtered);
    mt_vec_release(&c->segments);
    mt_vec_release(&c->blocks);
    mt_vec_release(&c->annotations);
    return status;
}

enum mt_status mt_view_slice(struct mt_view *v, const struct mt_filter *filter,
                             struct mt_error *err)
{
    struct slicing c = {.view = v};
    return slice_through(&c, filter, err);
}

/* ---- at a moment ---- */

/* *found: some device has the moment. */
static enum mt_status find_until(const struct mt_snapshot *s, const struct mt_moment *at,
                                 int32_t device, size_t *until, bool *found, struct mt_error *err)
{
    struct mt_replay r;
    MT_TRY(mt_replay_init(&r, s, device, err));
    enum mt_status status = mt_moment_find(at, &r, until, err);
    mt_replay_release(&r);
    *found |= status == MT_OK;
    if (status == MT_NOT_FOUND) {
        *until = NOTHING;
        return MT_OK;
    }
    return status;
}

enum mt_status mt_view_at(struct mt_view *v, const struct mt_moment *at, struct mt_error *err)
{
    size_t n = v->s.n_traces;
    struct slicing c = {.view = v, .only_traced = mt_moment_needs_trace(at->kind)};
    bool found = !c.only_traced;
    if (at->kind == MT_AT_END) {
        return MT_OK;
    }
    size_t *until = mt_view_alloc(v, n ? n : 1, sizeof *until);
    if (!until) {
        return mt_fail_nomem(err);
    }
    for (size_t d = 0; d < n; d++) {
        MT_TRY(find_until(&v->s, at, (int32_t)d, &until[d], &found, err));
    }
    if (!found) {
        return n ? MT_NOT_FOUND /* err is that of the last device */
                 : mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET, "--at %s: this file has no trace",
                           mt_moment_name(at->kind));
    }
    struct mt_filter open;
    mt_filter_init(&open);
    c.until = until;
    enum mt_status status = slice_through(&c, &open, err);
    mt_filter_release(&open);
    return status;
}
