/* SPDX-License-Identifier: MIT */
/* Views of snapshots: what they own, and the one change that needs nothing else (dropping stacks).
 */
#include "snapshot/model/view.h"

#include <string.h>

#include "snapshot/model/device_segments.h"
#include "torch/keys.h"

void mt_view_init(struct mt_view *v, const struct mt_snapshot *s)
{
    *v = (struct mt_view){.s = *s};
    v->s.owner = NULL;
}

void mt_view_release(struct mt_view *v)
{
    for (size_t i = 0; i < v->owned.n; i++) {
        mt_mem_free(v->owned.v[i]);
    }
    mt_vec_release(&v->owned);
    v->s = (struct mt_snapshot){0};
}

void *mt_view_alloc(struct mt_view *v, size_t count, size_t size)
{
    void *p = mt_mem_zalloc(count, size);
    if (p && !mt_vec_push(&v->owned, p)) {
        mt_mem_free(p);
        p = NULL;
    }
    return p;
}

void *mt_view_copy(struct mt_view *v, const void *p, size_t count, size_t size)
{
    void *copy = mt_view_alloc(v, count, size);
    if (copy && count) {
        memcpy(copy, p, count * size);
    }
    return copy;
}

bool mt_view_forget_records(struct mt_view *v, struct mt_snapshot *out)
{
    struct mt_value *values = mt_view_copy(v, out->values, out->n_values, sizeof *values);
    if (!values) {
        return false;
    }
    for (size_t i = 0; i < out->n_values; i++) {
        switch (values[i].kind) {
        case MT_VALUE_EVENTS:
        case MT_VALUE_SEGMENTS:
        case MT_VALUE_BLOCKS:
        case MT_VALUE_ANNOTATIONS: values[i] = (struct mt_value){.kind = MT_VALUE_NONE}; break;
        default: break;
        }
    }
    out->values = values;
    return true;
}

/* ---- dropping stacks ---- */

static bool holds_stack(const struct mt_snapshot *s, const struct mt_extra *e)
{
    static const struct mt_str names[] = {MT_STR_INIT("cpp_frames"), MT_STR_INIT("forward_frames")};
    for (size_t i = 0; i < MT_COUNT(names); i++) {
        if (mt_str_equal(mt_snapshot_str(s, e->key), names[i])) {
            return true;
        }
    }
    return false;
}

/* The list from `head` on, without entries that hold stacks; `extras` is relinked. */
static uint32_t drop_from_list(const struct mt_snapshot *s, struct mt_extra *extras, uint32_t head)
{
    uint32_t first = 0, *tail = &first;
    while (head) {
        uint32_t next = extras[head].next;
        if (!holds_stack(s, &extras[head])) {
            *tail = head;
            tail = &extras[head].next;
        }
        head = next;
    }
    *tail = 0;
    return first;
}

struct copies {
    struct mt_event *events;
    uint32_t *event_extras;
    struct mt_event_shape *shapes;
    struct mt_segment *segments, *host_segments, *other_segments;
    struct mt_block *blocks;
    struct mt_history *history;
    struct mt_extra *extras;
};

static bool copy_all(struct mt_view *v, struct copies *c)
{
    const struct mt_snapshot *s = &v->s;
    c->events = mt_view_copy(v, s->events, s->n_events, sizeof *s->events);
    c->shapes = mt_view_copy(v, s->event_shapes, s->n_event_shapes, sizeof *s->event_shapes);
    c->segments = mt_view_copy(v, s->segments, s->n_segments, sizeof *s->segments);
    c->host_segments =
        mt_view_copy(v, s->host_segments, s->n_host_segments, sizeof *s->host_segments);
    c->other_segments =
        mt_view_copy(v, s->other_segments, s->n_other_segments, sizeof *s->other_segments);
    c->blocks = mt_view_copy(v, s->blocks, s->n_blocks, sizeof *s->blocks);
    c->history = mt_view_copy(v, s->history, s->n_history, sizeof *s->history);
    c->extras = mt_view_copy(v, s->extras, s->n_extras, sizeof *s->extras);
    const uint32_t *extra = s->columns[MT_COLUMN_EXTRA];
    c->event_extras = extra ? mt_view_copy(v, extra, s->n_events, sizeof *extra) : NULL;
    return c->events && c->shapes && c->segments && c->host_segments && c->other_segments &&
           c->blocks && c->history && c->extras && (c->event_extras || !extra);
}

static void drop_of_segments(const struct mt_snapshot *s, struct copies *c,
                             struct mt_segment *segments, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        segments[i].stack = 0;
        segments[i].extra = drop_from_list(s, c->extras, segments[i].extra);
    }
}

static void drop_of_events(const struct mt_snapshot *s, struct copies *c)
{
    for (size_t i = 0; i < s->n_events; i++) {
        struct mt_event *e = &c->events[i];
        if (e->action != MT_ACTION_USER_DEFINED) {
            e->stack = 0;
        }
        if (c->event_extras) {
            c->event_extras[i] = drop_from_list(s, c->extras, c->event_extras[i]);
        }
    }
}

/* An event's shape says whether it has frames. user_defined events keep theirs, so where they share
 * a shape with others its list stays, and is empty for the others. */
static void drop_of_shapes(const struct mt_snapshot *s, struct mt_event_shape *shapes)
{
    bool keep[UINT8_MAX + 1] = {false};
    for (size_t i = 0; i < s->n_events; i++) {
        keep[s->events[i].shape] |= s->events[i].action == MT_ACTION_USER_DEFINED;
    }
    for (size_t i = 0; i < s->n_event_shapes; i++) {
        if (!keep[i]) {
            shapes[i].present &= ~(1u << MT_EVENT_KEY_frames);
        }
    }
}

enum mt_status mt_view_drop_frames(struct mt_view *v, struct mt_error *err)
{
    struct mt_snapshot *s = &v->s;
    struct copies c;
    if (!copy_all(v, &c)) {
        return mt_fail_nomem(err);
    }
    drop_of_events(s, &c);
    drop_of_shapes(s, c.shapes);
    drop_of_segments(s, &c, c.segments, s->n_segments);
    drop_of_segments(s, &c, c.host_segments, s->n_host_segments);
    drop_of_segments(s, &c, c.other_segments, s->n_other_segments);
    for (size_t i = 0; i < s->n_blocks; i++) {
        c.blocks[i].stack = 0;
        c.blocks[i].extra = drop_from_list(s, c.extras, c.blocks[i].extra);
    }
    for (size_t i = 0; i < s->n_history; i++) {
        c.history[i].stack = 0;
        c.history[i].present &= ~(1u << MT_HISTORY_KEY_frames);
        c.history[i].extra = drop_from_list(s, c.extras, c.history[i].extra);
    }
    s->events = c.events;
    s->event_shapes = c.shapes;
    mt_snapshot_set_segments(s, c.segments, s->n_segments);
    s->host_segments = c.host_segments;
    s->other_segments = c.other_segments;
    s->blocks = c.blocks;
    s->history = c.history;
    s->extras = c.extras;
    s->columns[MT_COLUMN_EXTRA] = c.event_extras;
    return MT_OK;
}
