/* SPDX-License-Identifier: MIT */
/* One event of a trace as one line of JSON. */
#include "print/report_json.h"
#include "verbs/trace/trace_report.h"

static void put_column(struct mt_out o, const char *key, const struct mt_listing *x,
                       enum mt_event_column column, const struct mt_event *e)
{
    const uint32_t *ids = x->s->columns[column];
    if (ids && ids[e - x->s->events]) {
        mt_out_str(o, key, mt_snapshot_str(x->s, ids[e - x->s->events]));
    }
}

static void put_names(struct mt_out o, const struct mt_step *at, const struct mt_named *n)
{
    bool block =
        at->kind == MT_STEP_ALLOC || at->kind == MT_STEP_FREE || at->kind == MT_STEP_FREE_REQUESTED;
    if (block) {
        mt_out_text(o, "name", n->alloc == MT_NO_NAME ? NULL : mt_alloc_name_text(n->alloc).s);
    }
    if (at->kind != MT_STEP_OTHER) {
        char text[24];
        snprintf(text, sizeof text, "s%u", n->segment);
        mt_out_text(o, "segment", n->segment == MT_NO_NAME ? NULL : text);
        mt_out_known(o, "offset_bytes", n->segment != MT_NO_NAME, n->offset);
    }
}

static void put_event(struct mt_out o, struct mt_listing *x, const struct mt_step *at,
                      const struct mt_named *named)
{
    const struct mt_event *e = at->event;
    mt_out_i64(o, "device", x->l->replay->device);
    mt_out_u64(o, "event", at->index);
    mt_out_text(o, "action", mt_listing_action(x, e));
    if (e->action == MT_ACTION_OOM) {
        mt_out_known(o, "device_free_bytes", e->addr != MT_FREE_UNKNOWN, e->addr);
    } else {
        mt_out_addr(o, "addr", e->addr);
    }
    mt_out_u64(o, "size_bytes", e->size);
    mt_out_addr(o, "stream", x->s->streams[e->stream].handle);
    mt_out_time(o, "time_us", e->time_us);
    put_names(o, at, named);
    if (at->kind == MT_STEP_FREE || at->kind == MT_STEP_FREE_REQUESTED) {
        mt_out_known(o, "alloc_event", at->alloc != MT_NEVER, at->alloc);
    }
    mt_out_u64(o, "alive_bytes", at->live_bytes);
    mt_out_u64(o, "alive_count", at->live_count);
    mt_out_known(o, "reserved_bytes", mt_source_has_reserved(&x->s->source), at->reserved_bytes);
    put_column(o, "user_metadata", x, MT_COLUMN_USER_METADATA, e);
    put_column(o, "compile_context", x, MT_COLUMN_COMPILE_CONTEXT, e);
    put_column(o, "category", x, MT_COLUMN_CATEGORY, e);
    mt_out_text(o, "where", e->stack ? mt_listing_label(x, e->stack) : NULL);
    if (x->r->verbose) {
        mt_out_frames(o, x->s, e->stack);
    }
}

void mt_listing_json_event(struct mt_listing *x, const struct mt_step *at,
                           const struct mt_named *named)
{
    struct mt_buf *line = &x->json.text;
    mt_buf_reset(line);
    struct mt_out o = mt_out_object(mt_out_here(&x->json), NULL);
    put_event(o, x, at, named);
    mt_out_end(o);
    mt_buf_char(line, '\n');
    x->failed |= line->failed;
    x->over = x->l->max_bytes && line->n > x->l->max_bytes - x->l->bytes;
    if (!x->failed && !x->over) {
        fwrite(line->p, 1, line->n, x->r->out);
        x->l->bytes += line->n;
    }
}
