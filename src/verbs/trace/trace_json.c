/* SPDX-License-Identifier: MIT */
/* One event of a trace as one line of JSON. */
#include "print/json_line.h"
#include "verbs/trace/trace_report.h"
#include "torch/keys.h"

static void put_text_column(struct mt_buf *b, const char *key, const struct mt_listing *x,
                            enum mt_event_column column, const struct mt_event *e)
{
    const uint32_t *ids = x->s->columns[column];
    if (ids && ids[e - x->s->events]) {
        mt_line_str(b, key, mt_snapshot_str(x->s, ids[e - x->s->events]));
    }
}

/* Text, or null where there is none. */
static void put_text(struct mt_buf *b, const char *key, const char *text)
{
    text ? mt_line_str(b, key, mt_str_from(text)) : mt_line_null(b, key);
}

static void put_known(struct mt_buf *b, const char *key, bool known, uint64_t n)
{
    known ? mt_line_u64(b, key, n) : mt_line_null(b, key);
}

static void put_names(struct mt_buf *b, const struct mt_step *at, const struct mt_named *n)
{
    bool block =
        at->kind == MT_STEP_ALLOC || at->kind == MT_STEP_FREE || at->kind == MT_STEP_FREE_REQUESTED;
    if (block) {
        put_text(b, "name", n->alloc == MT_NO_NAME ? NULL : mt_alloc_name_text(n->alloc).s);
    }
    if (at->kind != MT_STEP_OTHER) {
        char text[24];
        snprintf(text, sizeof text, "s%u", n->segment);
        put_text(b, "segment", n->segment == MT_NO_NAME ? NULL : text);
        put_known(b, "offset_bytes", n->segment != MT_NO_NAME, n->offset);
    }
}

static void put_frames(struct mt_buf *b, const struct mt_snapshot *s, uint32_t id)
{
    const struct mt_stack *stack = &s->stacks[id];
    mt_line_key(b, "frames");
    mt_line_open(b, '[');
    for (uint32_t i = 0; i < stack->n; i++) {
        const struct mt_frame *f = &s->frames[s->stack_frames[stack->first + i]];
        mt_line_open(b, '{');
        mt_line_str(b, "name", mt_snapshot_str(s, f->name));
        mt_line_str(b, "filename", mt_snapshot_str(s, f->filename));
        if (f->present >> MT_FRAME_KEY_line & 1) {
            mt_line_i64(b, "line", f->line);
        } else {
            mt_line_null(b, "line");
        }
        mt_line_close(b, '}');
    }
    mt_line_close(b, ']');
}

static void put_event(struct mt_listing *x, const struct mt_step *at, const struct mt_named *named)
{
    const struct mt_event *e = at->event;
    struct mt_buf *b = &x->line;
    mt_line_i64(b, "device", x->l->replay->device);
    mt_line_u64(b, "event", at->index);
    put_text(b, "action", mt_listing_action(x, e));
    if (e->action == MT_ACTION_OOM && e->addr == MT_FREE_UNKNOWN) {
        mt_line_null(b, "device_free_bytes");
    } else if (e->action == MT_ACTION_OOM) {
        mt_line_u64(b, "device_free_bytes", e->addr);
    } else {
        mt_line_addr(b, "addr", e->addr);
    }
    mt_line_u64(b, "size_bytes", e->size);
    mt_line_addr(b, "stream", x->s->streams[e->stream].handle);
    if (e->time_us == MT_NO_TIME) {
        mt_line_null(b, "time_us");
    } else {
        mt_line_i64(b, "time_us", e->time_us);
    }
    put_names(b, at, named);
    if (at->kind == MT_STEP_FREE || at->kind == MT_STEP_FREE_REQUESTED) {
        put_known(b, "alloc_event", at->alloc != MT_NEVER, at->alloc);
    }
    mt_line_u64(b, "alive_bytes", at->live_bytes);
    mt_line_u64(b, "alive_count", at->live_count);
    put_known(b, "reserved_bytes", mt_source_has_reserved(&x->s->source), at->reserved_bytes);
}

void mt_listing_json_event(struct mt_listing *x, const struct mt_step *at,
                           const struct mt_named *named)
{
    const struct mt_event *e = at->event;
    struct mt_buf *b = &x->line;
    mt_buf_reset(b);
    mt_line_open(b, '{');
    put_event(x, at, named);
    put_text_column(b, "user_metadata", x, MT_COLUMN_USER_METADATA, e);
    put_text_column(b, "compile_context", x, MT_COLUMN_COMPILE_CONTEXT, e);
    put_text_column(b, "category", x, MT_COLUMN_CATEGORY, e);
    put_text(b, "where", e->stack ? mt_listing_label(x, e->stack) : NULL);
    if (x->r->verbose) {
        put_frames(b, x->s, e->stack);
    }
    mt_line_close(b, '}');
    mt_buf_char(b, '\n');
    x->failed |= b->failed;
    x->over = x->l->max_bytes && b->n > x->l->max_bytes - x->l->bytes;
    if (!x->failed && !x->over) {
        fwrite(b->p, 1, b->n, x->r->out);
        x->l->bytes += b->n;
    }
}
