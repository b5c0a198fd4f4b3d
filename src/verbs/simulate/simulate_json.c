/* SPDX-License-Identifier: MIT */
/* simulate/1: each run with PyTorch's own counters, and what they rest on. */
#include "verbs/simulate/cures_json.h"
#include "verbs/simulate/print.h"

struct counters {
    struct mt_put *put;
    cJSON *object;
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
        mt_put_i64(c->put, c->object, name, value);
    }
    return !c->put->failed;
}

static void put_counters(struct mt_put *p, cJSON *run, const struct mt_sim_run *r)
{
    struct counters c = {p, mt_put_object(p, run, "counters"), !r->of_trace};
    if (c.object) {
        mt_alloc_stats_each(&r->stats, put_counter, &c);
    }
}

static void put_bound(struct mt_put *p, cJSON *o, const char *key, const struct mt_sim_bound *b)
{
    cJSON *at = mt_put_object(p, o, key);
    const char *from = b->given ? "given" : "inferred";
    mt_put_text(p, at, "source", b->known ? from : NULL);
    mt_put_known(p, at, "at_least_bytes", b->has_least, b->least);
    mt_put_known(p, at, "below_bytes", b->has_below, b->below);
}

static void put_fidelity(struct mt_put *p, cJSON *run, const struct mt_sim_run *r)
{
    const struct mt_sim_fidelity *f = &r->fidelity;
    cJSON *o = mt_put_object(p, run, "fidelity");
    mt_put_u64(p, o, "device_events_recorded", f->device_events_recorded);
    mt_put_u64(p, o, "device_events_matched", f->device_events_matched);
    mt_put_u64(p, o, "device_events_made", f->device_events_made);
    mt_put_u64(p, o, "placements_recorded", f->placements_recorded);
    mt_put_u64(p, o, "placements_matched", f->placements_matched);
    mt_put_bool(p, o, "final_layout_match", f->final_layout_match);
    mt_put_bool(p, o, "exact", r->exact);
    mt_put_known(p, o, "first_difference_event", r->leaves, r->leaves_event);
}

static void put_ooms(struct mt_put *p, cJSON *run, const struct mt_sim_run *r)
{
    cJSON *list = mt_put_array(p, run, "ooms");
    for (size_t i = 0; i < r->ooms.n; i++) {
        const struct mt_sim_oom *oom = &r->ooms.v[i];
        cJSON *o = mt_put_object(p, list, NULL);
        mt_put_u64(p, o, "event", oom->event);
        mt_put_u64(p, o, "size_bytes", oom->size);
        mt_put_known(p, o, "largest_hole_bytes", !r->of_trace, oom->largest_hole);
    }
}

static void put_peak(struct mt_put *p, cJSON *run, const struct mt_sim_run *r)
{
    const struct mt_sim_peak *k = &r->peak;
    cJSON *o = mt_put_object(p, run, "peak");
    mt_put_u64(p, o, "event", k->event);
    mt_put_u64(p, o, "reserved_bytes", k->reserved);
    mt_put_known(p, o, "allocated_bytes", !r->of_trace, k->allocated);
    mt_put_u64(p, o, "requested_bytes", k->requested);
    if (!r->of_trace) {
        mt_put_ratio(p, o, "fragmentation",
                     k->reserved ? 1.0 - (double)k->allocated / (double)k->reserved : 0.0);
    } else {
        mt_put_known(p, o, "fragmentation", false, 0);
    }
}

static void put_ideal(struct mt_put *p, cJSON *run, const struct mt_packing *x)
{
    cJSON *o = mt_put_object(p, run, "ideal");
    mt_put_u64(p, o, "lower_bound_bytes", x->alive);
    mt_put_known(p, o, "packed_bytes", x->known, x->packed);
}

static void put_cost(struct mt_put *p, cJSON *run, const struct mt_sim_run *r)
{
    const struct mt_alloc_stats *s = &r->stats;
    cJSON *o = mt_put_object(p, run, "cost");
    mt_put_u64(p, o, "requests", s->searches);
    mt_put_u64(p, o, "hits", s->hits);
    mt_put_ratio(p, o, "hit_rate", s->searches ? (double)s->hits / (double)s->searches : 0.0);
    mt_put_u64(p, o, "device_calls", s->num_device_alloc + s->num_device_free);
    mt_put_u64(p, o, "releases", s->releases);
    mt_put_u64(p, o, "garbage_collections", s->garbage_collections);
    mt_put_u64(p, o, "synchronisations", s->num_sync_all_streams);
    mt_put_u64(p, o, "empty_caches", r->empty_caches);
}

static void put_assumptions(struct mt_put *p, cJSON *run, const struct mt_sim_run *r)
{
    const struct mt_sim_assumptions *a = &r->assumed;
    bool some = a->ooms_served + a->frees_ignored > 0;
    cJSON *o = mt_put_object(p, run, "assumptions");
    mt_put_u64(p, o, "ooms_served", a->ooms_served);
    mt_put_u64(p, o, "frees_ignored", a->frees_ignored);
    mt_put_known(p, o, "last_event", some, a->last_event);
    mt_put_known(p, o, "requests_after", a->ooms_served > 0, a->requests_after);
}

static void put_edits(struct mt_put *p, cJSON *run, const struct mt_sim_result *v)
{
    cJSON *names = mt_put_array(p, run, "edits");
    for (size_t i = 0; i < v->n_edits; i++) {
        const struct mt_sim_edit *e = &v->edits[i];
        struct mt_buf b = {0};
        mt_buf_printf(&b, "%s:%s", mt_sim_edit_word(e->kind), e->pattern);
        mt_put_item(p, names, NULL, mt_json_str_item(b.failed ? MT_STR("") : mt_buf_view(&b)));
        p->failed |= b.failed;
        mt_buf_release(&b);
    }
    cJSON *list = mt_put_array(p, run, "edit_effects");
    for (size_t i = 0; i < v->n_edits; i++) {
        const struct mt_sim_edit *e = &v->edits[i];
        cJSON *o = mt_put_object(p, list, NULL);
        mt_put_text(p, o, "kind", mt_sim_edit_word(e->kind));
        mt_put_text(p, o, "pattern", e->pattern);
        if (e->kind == MT_SIM_SCALE) {
            mt_put_ratio(p, o, "factor", e->factor);
        }
        mt_put_u64(p, o, "allocations", e->allocations);
        mt_put_u64(p, o, "calls", e->calls);
        mt_put_u64(p, o, "changed", e->changed);
        mt_put_u64(p, o, "bytes", e->bytes);
    }
}

static void put_run(struct mt_put *p, cJSON *list, const struct mt_sim_result *v,
                    const struct mt_sim_run *r)
{
    cJSON *run = mt_put_object(p, list, NULL);
    mt_put_text(p, run, "role", r->recorded ? "recorded" : "what_if");
    mt_put_text(p, run, "conf", r->conf);
    mt_put_i64(p, run, "device", v->device);
    mt_put_known(p, run, "limit_bytes", r->limit.known, r->limit.bytes);
    mt_put_known(p, run, "capacity_bytes", r->capacity.known, r->capacity.bytes);
    put_counters(p, run, r);
    if (r->recorded) {
        put_fidelity(p, run, r);
    } else {
        put_edits(p, run, v);
    }
    put_ooms(p, run, r);
    mt_put_u64(p, run, "n_ooms", r->n_ooms);
    mt_put_text(p, run, "verdict", mt_sim_verdict_word(r->verdict));
    put_peak(p, run, r);
    put_ideal(p, run, mt_sim_ideal_of(v, r));
    if (!r->of_trace) {
        put_cost(p, run, r);
    }
    put_assumptions(p, run, r);
    mt_put_bool(p, run, "grows", mt_sim_run_grows(r, &v->runs[0]));
}

static void put_device(struct mt_put *p, cJSON *list, const struct mt_sim_result *v)
{
    size_t unsure;
    cJSON *o = mt_put_object(p, list, NULL);
    mt_put_i64(p, o, "device", v->device);
    mt_put_u64(p, o, "events", mt_sim_events(v->sim));
    mt_put_bool(p, o, "complete", mt_sim_is_complete(v->sim));
    mt_put_u64(p, o, "blocks_before", mt_sim_ghosts(v->sim, &unsure));
    mt_put_u64(p, o, "blocks_before_unsure", unsure);
    mt_put_known(p, o, "settings_tried", v->tried > 0, v->tried);
    put_bound(p, o, "limit", mt_sim_limit(v->sim));
    put_bound(p, o, "capacity", mt_sim_capacity(v->sim));
}

enum mt_status mt_report_simulate_json(const struct mt_report *r, const struct mt_sim_result *v,
                                       size_t n, struct mt_error *err)
{
    struct mt_put p = {false};
    cJSON *root = mt_json_begin(r, "simulate/1");
    cJSON *devices = mt_put_array(&p, root, "devices");
    for (size_t i = 0; i < n; i++) {
        put_device(&p, devices, &v[i]);
    }
    cJSON *runs = mt_put_array(&p, root, "runs");
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < v[i].n_runs; k++) {
            put_run(&p, runs, &v[i], &v[i].runs[k]);
        }
    }
    return mt_put_end(&p, r, root, false, err);
}

void mt_sim_put_cure(struct mt_put *p, cJSON *list, const struct mt_snapshot *s,
                     const struct mt_sim_cure *cure, uint64_t without)
{
    struct mt_buf words = {0};
    cJSON *o = mt_put_object(p, list, NULL);
    mt_sim_cure_words(&words, s, cure);
    mt_put_text(p, o, "id", mt_sim_cure_id(cure->kind));
    mt_put_str(p, o, "text", words.failed ? MT_STR("") : mt_buf_view(&words));
    mt_put_text(p, o, "conf", cure->conf);
    mt_put_known(p, o, "calls", cure->calls > 0, cure->calls);
    mt_put_u64(p, o, "reserved_peak_bytes", cure->reserved);
    mt_put_i64(p, o, "brings_bytes", (int64_t)(without - cure->reserved));
    mt_put_u64(p, o, "device_calls", cure->device_calls);
    mt_put_text(p, o, "verdict", mt_sim_verdict_word(cure->verdict));
    mt_buf_release(&words);
}
