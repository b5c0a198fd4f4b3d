/* SPDX-License-Identifier: MIT */
/* leaks/1. What a verdict of "unknown" leaves open is null. */
#include "heap/stacks/tensor_names.h"
#include "print/json_put.h"
#include "verbs/leaks/print.h"

static void put_period(struct mt_put *p, cJSON *root, const struct mt_snapshot *s,
                       const struct mt_leaks *l)
{
    static const char *const SOURCE[] = {NULL, "annotations", "detected", "option"};
    size_t n = mt_periods_count(&l->periods);
    cJSON *o = mt_put_object(p, root, "period");
    mt_put_known(p, o, "events", n > 0,
                 n ? (l->periods.bounds.v[n] - l->periods.bounds.v[0]) / n : 0);
    mt_put_u64(p, o, "count", n);
    mt_put_text(p, o, "source", SOURCE[l->periods.source]);
    if (l->periods.name) {
        mt_put_str(p, o, "name", mt_snapshot_str(s, l->periods.name));
    } else {
        mt_put_null(p, o, "name");
    }
    if (l->periods.source == MT_PERIOD_DETECTED) {
        mt_put_item(p, o, "frames", mt_json_frames(s, l->periods.stack));
    }
    mt_put_known(p, o, "passes", l->periods.passes.n > 0, l->periods.passes.n);
}

static void put_slopes(struct mt_put *p, cJSON *root, const struct mt_snapshot *s,
                       const struct mt_leaks *l)
{
    bool known = l->verdict != MT_LEAK_UNKNOWN;
    bool reserved = known && mt_source_has_reserved(&s->source);
    known ? mt_put_i64(p, root, "bytes_per_step", l->bytes_per_step)
          : mt_put_null(p, root, "bytes_per_step");
    reserved ? mt_put_i64(p, root, "reserved_bytes_per_step", l->reserved_bytes_per_step)
             : mt_put_null(p, root, "reserved_bytes_per_step");
    mt_put_u64(p, root, "threshold_bytes_per_step", l->threshold);
    known && l->stacks.n ? mt_put_ratio(p, root, "fit", l->fit) : mt_put_null(p, root, "fit");
    mt_put_known(p, root, "last_peak_bytes", l->has_peak, l->last_peak);
    mt_put_known(p, root, "steps_left", l->has_steps_left, l->steps_left);
}

/* Only where the file has names of tensors. */
static void put_keeper(struct mt_put *p, cJSON *o, const struct mt_snapshot *s,
                       const struct mt_growth *g)
{
    struct mt_keeper k;
    struct mt_error err;
    p->failed |= mt_keeper_find(&k, s, g->rest ? 0 : g->stack, &err) != MT_OK;
    if (!p->failed && !g->rest && k.name) {
        mt_put_str(p, o, "kept_by", mt_snapshot_str(s, k.name));
        mt_put_u64(p, o, "kept_by_count", k.count);
    }
}

static void put_stacks(struct mt_put *p, cJSON *root, const struct mt_report *r,
                       const struct mt_snapshot *s, const struct mt_leaks *l)
{
    cJSON *stacks = mt_put_array(p, root, "stacks");
    int64_t others = 0;
    for (size_t i = 0; i < l->stacks.n; i++) {
        const struct mt_growth *g = &l->stacks.v[i];
        if (r->limit && i >= r->limit) {
            others += g->bytes_per_step;
            continue;
        }
        cJSON *o = mt_put_object(p, stacks, NULL);
        mt_put_i64(p, o, "bytes_per_step", g->bytes_per_step);
        mt_put_u64(p, o, "live_bytes", g->live_bytes);
        mt_put_u64(p, o, "count", g->count);
        mt_put_bool(p, o, "many_stacks", g->rest);
        mt_put_item(p, o, "frames", mt_json_frames(s, g->stack));
        mt_put_forward(p, o, s, g->stack);
        put_keeper(p, o, s, g);
    }
    mt_put_i64(p, root, "others_bytes_per_step", others);
}

static void put_temporary(struct mt_put *p, cJSON *root, const struct mt_report *r,
                          const struct mt_snapshot *s, const struct mt_lifetimes *l)
{
    cJSON *o = mt_put_object(p, root, "temporary");
    mt_put_u64(p, o, "within_events", l->within);
    mt_put_u64(p, o, "count", l->temporary_count);
    mt_put_u64(p, o, "bytes", l->temporary_bytes);
    mt_put_u64(p, o, "allocs", l->allocs);
    cJSON *stacks = mt_put_array(p, o, "stacks");
    for (size_t i = 0; i < l->temporary.n && (!r->limit || i < r->limit); i++) {
        cJSON *one = mt_put_object(p, stacks, NULL);
        mt_put_u64(p, one, "bytes", l->temporary.v[i].bytes);
        mt_put_u64(p, one, "count", l->temporary.v[i].count);
        mt_put_u64(p, one, "largest_bytes", l->temporary.v[i].largest);
        mt_put_item(p, one, "frames", mt_json_frames(s, l->temporary.v[i].stack));
    }
}

static void put_pending(struct mt_put *p, cJSON *root, const struct mt_report *r,
                        const struct mt_snapshot *s, const struct mt_lifetimes *l)
{
    cJSON *o = mt_put_object(p, root, "pending");
    mt_put_u64(p, o, "count", l->pending_count);
    mt_put_u64(p, o, "bytes", l->pending_bytes);
    mt_put_ratio(p, o, "byte_seconds", l->pending_byte_seconds);
    cJSON *stacks = mt_put_array(p, o, "stacks");
    for (size_t i = 0; i < l->pending.n && (!r->limit || i < r->limit); i++) {
        const struct mt_pending *x = &l->pending.v[i];
        cJSON *one = mt_put_object(p, stacks, NULL);
        mt_put_ratio(p, one, "byte_seconds", x->byte_seconds);
        mt_put_u64(p, one, "bytes", x->bytes);
        mt_put_u64(p, one, "count", x->count);
        mt_put_u64(p, one, "still_pending_bytes", x->alive_bytes);
        mt_put_addr(p, one, "stream", s->streams[x->stream].handle);
        mt_put_item(p, one, "frames", mt_json_frames(s, x->stack));
    }
}

enum mt_status mt_report_leaks_json(const struct mt_report *r, const struct mt_snapshot *s,
                                    const struct mt_leaks_result *x, bool one_line,
                                    struct mt_error *err)
{
    static const char *const REASON[] = {"no_events",  "no_period", "one_pass", "too_short",
                                         "fill",       "layers",    "regrown",  "cache",
                                         "outweighed", "held",      "flat",     "filled",
                                         "below_line", "rises",     "pool",     "given_back"};
    struct mt_put p = {0};
    cJSON *root = mt_json_begin(r, "leaks/1");
    mt_put_text(&p, root, "verdict", mt_leak_verdict_id(x->leaks->verdict));
    mt_put_text(&p, root, "reason", REASON[x->leaks->reason]);
    mt_put_i64(&p, root, "device", x->leaks->device);
    put_period(&p, root, s, x->leaks);
    put_slopes(&p, root, s, x->leaks);
    put_stacks(&p, root, r, s, x->leaks);
    put_temporary(&p, root, r, s, x->lives);
    put_pending(&p, root, r, s, x->lives);
    return mt_put_end(&p, r, root, one_line, err);
}
