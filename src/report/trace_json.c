/* SPDX-License-Identifier: MIT */
/* One event of a trace as one line of JSON. */
#include "json_put.h"
#include "trace_report.h"

static void put_text_column(struct mt_put *p, cJSON *o, const char *key, const struct mt_listing *x,
                            enum mt_event_column column, const struct mt_event *e)
{
    const uint32_t *ids = x->s->columns[column];
    if (ids && ids[e - x->s->events]) {
        mt_put_str(p, o, key, mt_snapshot_str(x->s, ids[e - x->s->events]));
    }
}

static void put_names(struct mt_put *p, cJSON *o, const struct mt_step *at,
                      const struct mt_named *n)
{
    bool block =
        at->kind == MT_STEP_ALLOC || at->kind == MT_STEP_FREE || at->kind == MT_STEP_FREE_REQUESTED;
    if (block) {
        mt_put_text(p, o, "name", n->alloc == MT_NO_NAME ? NULL : mt_alloc_name_text(n->alloc).s);
    }
    if (at->kind != MT_STEP_OTHER) {
        char text[24];
        snprintf(text, sizeof text, "s%u", n->segment);
        mt_put_text(p, o, "segment", n->segment == MT_NO_NAME ? NULL : text);
        mt_put_known(p, o, "offset_bytes", n->segment != MT_NO_NAME, n->offset);
    }
}

void mt_listing_json_event(struct mt_listing *x, const struct mt_step *at,
                           const struct mt_named *named)
{
    const struct mt_event *e = at->event;
    struct mt_put p = {0};
    struct mt_error err;
    cJSON *o = cJSON_CreateObject();
    mt_put_i64(&p, o, "device", x->l->replay->device);
    mt_put_u64(&p, o, "event", at->index);
    mt_put_text(&p, o, "action", mt_listing_action(x, e));
    if (e->action == MT_ACTION_OOM) {
        mt_put_u64(&p, o, "device_free_bytes", e->addr);
    } else {
        mt_put_addr(&p, o, "addr", e->addr);
    }
    mt_put_u64(&p, o, "size_bytes", e->size);
    mt_put_addr(&p, o, "stream", x->s->streams[e->stream].handle);
    mt_put_time(&p, o, "time_us", e->time_us);
    put_names(&p, o, at, named);
    if (at->kind == MT_STEP_FREE || at->kind == MT_STEP_FREE_REQUESTED) {
        mt_put_known(&p, o, "alloc_event", at->alloc != MT_NEVER, at->alloc);
    }
    mt_put_u64(&p, o, "alive_bytes", at->live_bytes);
    mt_put_u64(&p, o, "alive_count", at->live_count);
    mt_put_u64(&p, o, "reserved_bytes", at->reserved_bytes);
    put_text_column(&p, o, "user_metadata", x, MT_COLUMN_USER_METADATA, e);
    put_text_column(&p, o, "compile_context", x, MT_COLUMN_COMPILE_CONTEXT, e);
    put_text_column(&p, o, "category", x, MT_COLUMN_CATEGORY, e);
    mt_put_text(&p, o, "where", e->stack ? mt_listing_label(x, e->stack) : NULL);
    if (x->r->verbose) {
        mt_put_item(&p, o, "frames", mt_json_frames(x->s, e->stack));
    }
    x->failed |= mt_put_end(&p, x->r, o, true, &err) != MT_OK;
}
