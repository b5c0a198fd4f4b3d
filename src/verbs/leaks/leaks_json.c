/* SPDX-License-Identifier: MIT */
/* leaks/1. What a verdict of "unknown" leaves open is null. */
#include "heap/stacks/tensor_names.h"
#include "print/report_json.h"
#include "verbs/leaks/print.h"

static void put_period(struct mt_out root, const struct mt_snapshot *s, const struct mt_leaks *l)
{
    static const char *const SOURCE[] = {NULL, "annotations", "detected", "option"};
    size_t n = mt_periods_count(&l->periods);
    struct mt_out o = mt_out_object(root, "period");
    mt_out_known(o, "events", n > 0, n ? (l->periods.bounds.v[n] - l->periods.bounds.v[0]) / n : 0);
    mt_out_u64(o, "count", n);
    mt_out_text(o, "source", SOURCE[l->periods.source]);
    if (l->periods.name) {
        mt_out_str(o, "name", mt_snapshot_str(s, l->periods.name));
    } else {
        mt_out_null(o, "name");
    }
    if (l->periods.source == MT_PERIOD_DETECTED) {
        mt_out_frames(o, s, l->periods.stack);
    }
    mt_out_known(o, "passes", l->periods.passes.n > 0, l->periods.passes.n);
}

static void put_slopes(struct mt_out root, const struct mt_snapshot *s, const struct mt_leaks *l)
{
    bool known = l->verdict != MT_LEAK_UNKNOWN;
    bool reserved = known && mt_source_has_reserved(&s->source);
    known ? mt_out_i64(root, "bytes_per_step", l->bytes_per_step)
          : mt_out_null(root, "bytes_per_step");
    reserved ? mt_out_i64(root, "reserved_bytes_per_step", l->reserved_bytes_per_step)
             : mt_out_null(root, "reserved_bytes_per_step");
    mt_out_u64(root, "threshold_bytes_per_step", l->threshold);
    known && l->stacks.n ? mt_out_f64(root, "fit", l->fit) : mt_out_null(root, "fit");
    mt_out_known(root, "last_peak_bytes", l->has_peak, l->last_peak);
    mt_out_known(root, "steps_left", l->has_steps_left, l->steps_left);
}

/* Only where the file has names of tensors. */
static void put_keeper(struct mt_out o, const struct mt_snapshot *s, const struct mt_growth *g)
{
    struct mt_keeper k;
    struct mt_error err;
    bool found = mt_keeper_find(&k, s, g->rest ? 0 : g->stack, &err) == MT_OK;
    o.json->text.failed |= !found;
    if (found && !g->rest && k.name) {
        mt_out_str(o, "kept_by", mt_snapshot_str(s, k.name));
        mt_out_u64(o, "kept_by_count", k.count);
    }
}

static void put_stacks(struct mt_out root, const struct mt_report *r, const struct mt_snapshot *s,
                       const struct mt_leaks *l)
{
    struct mt_out stacks = mt_out_array(root, "stacks");
    int64_t others = 0;
    for (size_t i = 0; i < l->stacks.n; i++) {
        const struct mt_growth *g = &l->stacks.v[i];
        if (r->limit && i >= r->limit) {
            others += g->bytes_per_step;
            continue;
        }
        struct mt_out o = mt_out_object(stacks, NULL);
        mt_out_i64(o, "bytes_per_step", g->bytes_per_step);
        mt_out_u64(o, "live_bytes", g->live_bytes);
        mt_out_u64(o, "count", g->count);
        mt_out_bool(o, "many_stacks", g->rest);
        mt_out_frames(o, s, g->stack);
        mt_out_forward(o, s, g->stack);
        put_keeper(o, s, g);
    }
    mt_out_i64(root, "others_bytes_per_step", others);
}

static void put_temporary(struct mt_out root, const struct mt_report *r,
                          const struct mt_snapshot *s, const struct mt_lifetimes *l)
{
    struct mt_out o = mt_out_object(root, "temporary");
    mt_out_u64(o, "within_events", l->within);
    mt_out_u64(o, "count", l->temporary_count);
    mt_out_u64(o, "bytes", l->temporary_bytes);
    mt_out_u64(o, "allocs", l->allocs);
    struct mt_out stacks = mt_out_array(o, "stacks");
    for (size_t i = 0; i < l->temporary.n && (!r->limit || i < r->limit); i++) {
        struct mt_out one = mt_out_object(stacks, NULL);
        mt_out_u64(one, "bytes", l->temporary.v[i].bytes);
        mt_out_u64(one, "count", l->temporary.v[i].count);
        mt_out_u64(one, "largest_bytes", l->temporary.v[i].largest);
        mt_out_frames(one, s, l->temporary.v[i].stack);
    }
}

static void put_pending(struct mt_out root, const struct mt_report *r, const struct mt_snapshot *s,
                        const struct mt_lifetimes *l)
{
    struct mt_out o = mt_out_object(root, "pending");
    mt_out_u64(o, "count", l->pending_count);
    mt_out_u64(o, "bytes", l->pending_bytes);
    mt_out_f64(o, "byte_seconds", l->pending_byte_seconds);
    struct mt_out stacks = mt_out_array(o, "stacks");
    for (size_t i = 0; i < l->pending.n && (!r->limit || i < r->limit); i++) {
        const struct mt_pending *x = &l->pending.v[i];
        struct mt_out one = mt_out_object(stacks, NULL);
        mt_out_f64(one, "byte_seconds", x->byte_seconds);
        mt_out_u64(one, "bytes", x->bytes);
        mt_out_u64(one, "count", x->count);
        mt_out_u64(one, "still_pending_bytes", x->alive_bytes);
        mt_out_addr(one, "stream", s->streams[x->stream].handle);
        mt_out_frames(one, s, x->stack);
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
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "leaks/1", one_line);
    mt_out_text(root, "verdict", mt_leak_verdict_id(x->leaks->verdict));
    mt_out_text(root, "reason", REASON[x->leaks->reason]);
    mt_out_i64(root, "device", x->leaks->device);
    put_period(root, s, x->leaks);
    put_slopes(root, s, x->leaks);
    put_stacks(root, r, s, x->leaks);
    put_temporary(root, r, s, x->lives);
    put_pending(root, r, s, x->lives);
    return mt_report_json_end(root, err);
}
