/* SPDX-License-Identifier: MIT */
/* simulate/1: each run with PyTorch's own counters, and what they rest on. */
#include "verbs/simulate/cures_json.h"
#include "verbs/simulate/print.h"

struct counters {
    struct mt_out object;
    bool replayed;
};

/* Without an exact replay: what the events prove. */
static bool is_proven(struct mt_str name)
{
    static const char *const proven[] = {"reserved_bytes.all.",
                                         "requested_bytes.all.",
                                         "segment.all.",
                                         "allocation.all.",
                                         "num_ooms",
                                         "num_device_"};
    for (size_t i = 0; i < MT_COUNT(proven); i++) {
        if (mt_str_starts(name, mt_str_from(proven[i]))) {
            return true;
        }
    }
    return false;
}

static bool put_counter(void *ctx, const char *name, int64_t value)
{
    const struct counters *c = ctx;
    if (c->replayed || is_proven(mt_str_from(name))) {
        mt_out_i64(c->object, name, value);
    }
    return true;
}

static void put_counters(struct mt_out run, const struct mt_sim_run *r)
{
    struct counters c = {mt_out_object(run, "counters"), !r->of_trace};
    mt_alloc_stats_each(&r->stats, put_counter, &c);
}

static void put_bound(struct mt_out o, const char *key, const struct mt_sim_bound *b)
{
    struct mt_out at = mt_out_object(o, key);
    const char *from = b->given ? "given" : "inferred";
    mt_out_text(at, "source", b->known ? from : NULL);
    mt_out_known(at, "at_least_bytes", b->has_least, b->least);
    mt_out_known(at, "below_bytes", b->has_below, b->below);
}

static void put_fidelity(struct mt_out run, const struct mt_sim_run *r)
{
    const struct mt_sim_fidelity *f = &r->fidelity;
    struct mt_out o = mt_out_object(run, "fidelity");
    mt_out_u64(o, "device_events_recorded", f->device_events_recorded);
    mt_out_u64(o, "device_events_matched", f->device_events_matched);
    mt_out_u64(o, "device_events_made", f->device_events_made);
    mt_out_u64(o, "placements_recorded", f->placements_recorded);
    mt_out_u64(o, "placements_matched", f->placements_matched);
    mt_out_bool(o, "final_layout_match", f->final_layout_match);
    mt_out_bool(o, "exact", r->exact);
    mt_out_known(o, "first_difference_event", r->leaves, r->leaves_event);
}

static void put_ooms(struct mt_out run, const struct mt_sim_run *r)
{
    struct mt_out list = mt_out_array(run, "ooms");
    for (size_t i = 0; i < r->ooms.n; i++) {
        const struct mt_sim_oom *oom = &r->ooms.v[i];
        struct mt_out o = mt_out_object(list, NULL);
        mt_out_u64(o, "event", oom->event);
        mt_out_u64(o, "size_bytes", oom->size);
        mt_out_known(o, "largest_hole_bytes", !r->of_trace, oom->largest_hole);
    }
}

static void put_peak(struct mt_out run, const struct mt_sim_run *r)
{
    const struct mt_sim_peak *k = &r->peak;
    struct mt_out o = mt_out_object(run, "peak");
    mt_out_u64(o, "event", k->event);
    mt_out_u64(o, "reserved_bytes", k->reserved);
    mt_out_known(o, "allocated_bytes", !r->of_trace, k->allocated);
    mt_out_u64(o, "requested_bytes", k->requested);
    if (!r->of_trace) {
        mt_out_f64(o, "fragmentation",
                   k->reserved ? 1.0 - (double)k->allocated / (double)k->reserved : 0.0);
    } else {
        mt_out_known(o, "fragmentation", false, 0);
    }
}

static void put_ideal(struct mt_out run, const struct mt_packing *x)
{
    struct mt_out o = mt_out_object(run, "ideal");
    mt_out_u64(o, "lower_bound_bytes", x->alive);
    mt_out_known(o, "packed_bytes", x->known, x->packed);
}

static void put_cost(struct mt_out run, const struct mt_sim_run *r)
{
    const struct mt_alloc_stats *s = &r->stats;
    struct mt_out o = mt_out_object(run, "cost");
    mt_out_u64(o, "requests", s->searches);
    mt_out_u64(o, "hits", s->hits);
    mt_out_f64(o, "hit_rate", s->searches ? (double)s->hits / (double)s->searches : 0.0);
    mt_out_u64(o, "device_calls", s->num_device_alloc + s->num_device_free);
    mt_out_u64(o, "releases", s->releases);
    mt_out_u64(o, "garbage_collections", s->garbage_collections);
    mt_out_u64(o, "synchronisations", s->num_sync_all_streams);
    mt_out_u64(o, "empty_caches", r->empty_caches);
}

static void put_assumptions(struct mt_out run, const struct mt_sim_run *r)
{
    const struct mt_sim_assumptions *a = &r->assumed;
    bool some = a->ooms_served + a->frees_ignored > 0;
    struct mt_out o = mt_out_object(run, "assumptions");
    mt_out_u64(o, "ooms_served", a->ooms_served);
    mt_out_u64(o, "frees_ignored", a->frees_ignored);
    mt_out_known(o, "last_event", some, a->last_event);
    mt_out_known(o, "requests_after", a->ooms_served > 0, a->requests_after);
}

static void put_edits(struct mt_out run, const struct mt_sim_result *v)
{
    struct mt_out names = mt_out_array(run, "edits");
    for (size_t i = 0; i < v->n_edits; i++) {
        const struct mt_sim_edit *e = &v->edits[i];
        struct mt_buf b = {0};
        mt_buf_printf(&b, "%s:%s", mt_sim_edit_word(e->kind), e->pattern);
        mt_out_buf(names, NULL, &b);
        mt_buf_release(&b);
    }
    struct mt_out list = mt_out_array(run, "edit_effects");
    for (size_t i = 0; i < v->n_edits; i++) {
        const struct mt_sim_edit *e = &v->edits[i];
        struct mt_out o = mt_out_object(list, NULL);
        mt_out_text(o, "kind", mt_sim_edit_word(e->kind));
        mt_out_text(o, "pattern", e->pattern);
        if (e->kind == MT_SIM_SCALE) {
            mt_out_f64(o, "factor", e->factor);
        }
        mt_out_u64(o, "allocations", e->allocations);
        mt_out_u64(o, "calls", e->calls);
        mt_out_u64(o, "changed", e->changed);
        mt_out_u64(o, "bytes", e->bytes);
    }
}

static void put_run(struct mt_out list, const struct mt_sim_result *v, const struct mt_sim_run *r)
{
    struct mt_out run = mt_out_object(list, NULL);
    mt_out_text(run, "role", r->recorded ? "recorded" : "what_if");
    mt_out_text(run, "conf", r->conf);
    mt_out_i64(run, "device", v->device);
    mt_out_known(run, "limit_bytes", r->limit.known, r->limit.bytes);
    mt_out_known(run, "capacity_bytes", r->capacity.known, r->capacity.bytes);
    put_counters(run, r);
    if (r->recorded) {
        put_fidelity(run, r);
    } else {
        put_edits(run, v);
    }
    put_ooms(run, r);
    mt_out_u64(run, "n_ooms", r->n_ooms);
    mt_out_text(run, "verdict", mt_sim_verdict_word(r->verdict));
    put_peak(run, r);
    put_ideal(run, mt_sim_ideal_of(v, r));
    if (!r->of_trace) {
        put_cost(run, r);
    }
    put_assumptions(run, r);
    mt_out_bool(run, "grows", mt_sim_run_grows(r, &v->runs[0]));
}

static void put_device(struct mt_out list, const struct mt_sim_result *v)
{
    size_t unsure;
    struct mt_out o = mt_out_object(list, NULL);
    mt_out_i64(o, "device", v->device);
    mt_out_u64(o, "events", mt_sim_events(v->sim));
    mt_out_bool(o, "complete", mt_sim_is_complete(v->sim));
    mt_out_u64(o, "blocks_before", mt_sim_ghosts(v->sim, &unsure));
    mt_out_u64(o, "blocks_before_unsure", unsure);
    mt_out_known(o, "settings_tried", v->tried > 0, v->tried);
    put_bound(o, "limit", mt_sim_limit(v->sim));
    put_bound(o, "capacity", mt_sim_capacity(v->sim));
}

enum mt_status mt_report_simulate_json(const struct mt_report *r, const struct mt_sim_result *v,
                                       size_t n, struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "simulate/1", false);
    struct mt_out devices = mt_out_array(root, "devices");
    for (size_t i = 0; i < n; i++) {
        put_device(devices, &v[i]);
    }
    struct mt_out runs = mt_out_array(root, "runs");
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < v[i].n_runs; k++) {
            put_run(runs, &v[i], &v[i].runs[k]);
        }
    }
    return mt_report_json_end(root, err);
}

void mt_sim_put_cure(struct mt_out list, const struct mt_snapshot *s,
                     const struct mt_sim_cure *cure, uint64_t without)
{
    struct mt_buf words = {0};
    struct mt_out o = mt_out_object(list, NULL);
    mt_sim_cure_words(&words, s, cure);
    mt_out_text(o, "id", mt_sim_cure_id(cure->kind));
    mt_out_str(o, "text", words.failed ? MT_STR("") : mt_buf_view(&words));
    mt_out_text(o, "conf", cure->conf);
    mt_out_known(o, "calls", cure->calls > 0, cure->calls);
    mt_out_u64(o, "reserved_peak_bytes", cure->reserved);
    mt_out_i64(o, "brings_bytes", (int64_t)(without - cure->reserved));
    mt_out_u64(o, "device_calls", cure->device_calls);
    mt_out_text(o, "verdict", mt_sim_verdict_word(cure->verdict));
    mt_buf_release(&words);
}
