/* SPDX-License-Identifier: MIT */
/*
 * trace: the events as they happened. Names are kept up for every event, whether the filter shows
 * it or not, so that the same memory has the same name however little is shown. A label is made
 * once a stack.
 */
#include "print/report_json.h"
#include "print/labels.h"
#include "snapshot/write/sink.h"
#include "verbs/trace/trace_report.h"

const char *mt_listing_label(struct mt_listing *x, uint32_t stack)
{
    if (!x->labels[stack].p) {
        mt_buf_reset(&x->scratch);
        mt_stack_label(&x->scratch, x->s, stack, x->r);
        mt_stack_label_forward(&x->scratch, x->s, stack);
        struct mt_str text = mt_buf_view(&x->scratch);
        x->labels[stack] = mt_arena_copy(&x->arena, text.p, text.n);
        x->failed |= x->scratch.failed || !x->labels[stack].p;
    }
    return x->labels[stack].p ? x->labels[stack].p : "";
}

const char *mt_listing_action(struct mt_listing *x, const struct mt_event *e)
{
    static const char *const words[] = {
#define X(name, word) word,
        MT_ACTION_MAP(X)
#undef X
    };
    if (e->action != MT_ACTION_OTHER) {
        return words[e->action];
    }
    mt_buf_reset(&x->scratch);
    uint32_t name = x->s->event_shapes[e->shape].action_name;
    mt_text_safe(&x->scratch, name ? mt_snapshot_str(x->s, name) : MT_STR("unknown"));
    x->failed |= x->scratch.failed;
    return mt_buf_view(&x->scratch).p;
}

/* ---- names ---- */

/* Before the event is printed: what comes to life. */
static void name_before(struct mt_listing *x, const struct mt_event *e)
{
    switch (e->action) {
    case MT_ACTION_ALLOC: x->failed |= mt_alloc_names_add(&x->allocs, e->addr) == MT_NO_NAME; break;
    case MT_ACTION_SEGMENT_ALLOC:
        x->failed |= mt_segment_names_add(&x->segments, e->addr, e->size) == MT_NO_NAME;
        break;
    case MT_ACTION_SEGMENT_MAP:
        x->failed |= mt_segment_names_map(&x->segments, e->addr, e->size) == MT_NO_NAME;
        break;
    default: break;
    }
}

/* After it: what is gone. */
static void name_after(struct mt_listing *x, const struct mt_event *e)
{
    switch (e->action) {
    case MT_ACTION_FREE:
    case MT_ACTION_FREE_COMPLETED: x->failed |= !mt_alloc_names_remove(&x->allocs, e->addr); break;
    case MT_ACTION_SEGMENT_FREE:
    case MT_ACTION_SEGMENT_UNMAP:
        (void)mt_segment_names_remove(&x->segments, e->addr, e->size, &x->failed);
        break;
    default: break;
    }
}

static struct mt_named name_event(const struct mt_listing *x, const struct mt_event *e)
{
    struct mt_named n = {.alloc = mt_alloc_names_find(&x->allocs, e->addr), .segment = MT_NO_NAME};
    const struct mt_named_segment *segment = mt_segment_names_find(&x->segments, e->addr);
    if (segment) {
        n.segment = segment->name;
        n.offset = e->addr - segment->addr;
    }
    return n;
}

/* ---- walking ---- */

static bool wanted(struct mt_listing *x, const struct mt_step *at)
{
    const struct mt_filter *f = x->l->filter->filter;
    if (!mt_filtered_event(x->l->filter, x->l->replay->device, at->index)) {
        return false;
    }
    if (!f->live_only && !f->freed_only) {
        return true;
    }
    if (at->kind == MT_STEP_ALLOC) {
        return (x->l->replay->partner[at->index] == MT_NEVER) == f->live_only;
    }
    return f->freed_only && (at->kind == MT_STEP_FREE || at->kind == MT_STEP_FREE_REQUESTED);
}

static void print(struct mt_listing *x, const struct mt_step *at, const struct mt_named *named)
{
    if (x->r->json) {
        mt_listing_json_event(x, at, named);
    } else if (x->r->separator) {
        mt_listing_csv_event(x, at, named);
    } else {
        mt_listing_text_event(x, at, named);
    }
}

/* A free_requested whose free_completed comes next. */
static bool is_free_at_once(const struct mt_listing *x, const struct mt_step *at)
{
    const struct mt_replay *p = x->l->replay;
    return at->kind == MT_STEP_FREE_REQUESTED && at->index + 1 < p->n &&
           p->events[at->index + 1].action == MT_ACTION_FREE_COMPLETED &&
           p->events[at->index + 1].addr == at->event->addr;
}

/* Prints what passes, and counts what does not. */
static void walk(struct mt_listing *x, struct mt_step *at)
{
    const struct mt_replay *p = x->l->replay;
    size_t lines = 0;
    mt_replay_begin(p, at);
    while (!x->failed && !x->over && mt_replay_next(p, at)) {
        name_before(x, at->event);
        struct mt_named named = name_event(x, at->event);
        bool show = wanted(x, at), room = !x->l->limit || lines < x->l->limit;
        struct mt_step first = *at;
        named.at_once = is_free_at_once(x, at);
        if (named.at_once && show && x->fuses) {
            (void)mt_replay_next(p, at);
        }
        named.now = at;
        if (show && room) {
            print(x, &first, &named);
            lines++;
        }
        x->more += show && !room;
        x->left_out += !show;
        name_after(x, at->event);
    }
}

static void text_head(const struct mt_listing *x)
{
    const struct mt_replay *p = x->l->replay;
    fprintf(x->r->out, "%s%s%s: %s\n", mt_color_begin(x->r, MT_COLOR_HEAD),
            mt_device_label(p->device).s, mt_color_end(x->r), mt_counted_text(p->n, "event").s);
    if (p->ghosts.n || p->start_reserved) {
        char names[48] = "";
        if (x->segments.live.n) {
            size_t last = x->segments.live.n - 1;
            snprintf(names, sizeof names, last ? " (s0 to s%zu)" : " (s%zu)", last);
        }
        mt_report_line(x->r, 2, "before the first: %s alive in %s allocation%s, %s reserved%s",
                       mt_report_size(x->r, p->ghost_bytes).s, mt_count_text(p->ghosts.n).s,
                       p->ghosts.n == 1 ? "" : "s", mt_report_size(x->r, p->start_reserved).s,
                       names);
    }
    mt_listing_text_head(x);
}

static void text_foot(const struct mt_listing *x, const struct mt_step *at)
{
    if (x->more) {
        fprintf(x->r->out, "[%s more line%s, -n 0 shows all]\n", mt_count_text(x->more).s,
                x->more == 1 ? "" : "s");
    }
    struct mt_size_text reserved = mt_report_size(x->r, at->reserved_bytes);
    bool known = mt_source_has_reserved(&x->s->source);
    mt_report_line(x->r, 2, "TOTAL at the end: %s alive in %s allocation%s%s%s%s",
                   mt_report_size(x->r, at->live_bytes).s, mt_count_text(at->live_count).s,
                   at->live_count == 1 ? "" : "s", known ? ", " : "", known ? reserved.s : "",
                   known ? " reserved" : "");
    if (x->left_out) {
        fprintf(x->r->out, "Left out by the filter: %s event%s.\n", mt_count_text(x->left_out).s,
                x->left_out == 1 ? "" : "s");
    }
}

enum mt_status mt_report_trace(const struct mt_report *r, struct mt_trace_listing *l,
                               struct mt_error *err)
{
    const struct mt_snapshot *s = l->snapshot;
    bool text = !r->json && !r->separator;
    if (r->json && r->verbose && !l->limit && mt_filter_is_open(l->filter->filter) &&
        mt_stacks_exceed(s, l->replay->events, l->replay->n, l->max_bytes)) {
        return mt_sink_over_limit(l->max_bytes, err);
    }
    struct mt_listing x = {
        .r = r, .l = l, .s = s, .first_us = MT_NO_TIME, .fuses = text && !l->all};
    for (size_t i = 0; i < l->replay->n && x.first_us == MT_NO_TIME; i++) {
        x.first_us = l->replay->events[i].time_us;
    }
    x.labels = mt_mem_zalloc(s->n_stacks ? s->n_stacks : 1, sizeof *x.labels);
    x.failed = !x.labels || !mt_segment_names_start(&x.segments, s, l->replay->device);
    struct mt_step at;
    if (!x.failed) {
        if (text) {
            text_head(&x);
        }
        walk(&x, &at);
        if (text && !x.failed) {
            text_foot(&x, &at);
        }
    }
    mt_alloc_names_release(&x.allocs);
    mt_segment_names_release(&x.segments);
    mt_arena_release(&x.arena);
    mt_buf_release(&x.scratch);
    mt_buf_release(&x.line);
    mt_buf_release(&x.json.text);
    mt_mem_free(x.labels);
    return x.failed ? mt_fail_nomem(err) : x.over ? mt_sink_over_limit(l->max_bytes, err) : MT_OK;
}

enum mt_status mt_report_trace_begin(const struct mt_report *r, const struct mt_snapshot *s,
                                     struct mt_error *err)
{
    if (r->separator) {
        static const char *const titles[] = {
            "device",     "event",          "time_us", "action",  "address",
            "size_bytes", "stream",         "name",    "segment", "offset_bytes",
            "live_bytes", "reserved_bytes", "stack"};
        for (size_t i = 0; i < MT_COUNT(titles); i++) {
            fprintf(r->out, "%s%c", titles[i], i + 1 < MT_COUNT(titles) ? r->separator : '\n');
        }
    }
    if (!r->json) {
        return MT_OK;
    }
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "trace/1", true);
    mt_out_u64(root, "events", s->n_events);
    return mt_report_json_end(root, err);
}
