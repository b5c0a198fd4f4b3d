/* SPDX-License-Identifier: MIT */
/* The estimate as JSON: estimate/1. */
#include "verbs/estimate/print.h"

static bool put_range(cJSON *o, const struct mt_range *b)
{
    return mt_json_u64(o, "bytes", b->middle) && mt_json_u64(o, "low_bytes", b->low) &&
           mt_json_u64(o, "high_bytes", b->high);
}

static bool add_term(cJSON *terms, const struct mt_estimate_term *t, uint64_t card)
{
    cJSON *o = cJSON_CreateObject();
    return o && cJSON_AddItemToArray(terms, o) &&
           mt_json_str(o, "id", mt_str_from(mt_estimate_term_name(t->id))) &&
           put_range(o, &t->bytes) &&
           (card ? mt_json_ratio(o, "share", (double)t->bytes.middle / (double)card)
                 : mt_json_null(o, "share")) &&
           mt_json_str(o, "formula", mt_str_from(t->formula)) &&
           mt_json_str(o, "doubt", mt_str_from(t->doubt));
}

static bool add_found(cJSON *root, const struct mt_estimate *e, const struct mt_estimate_found *f)
{
    if (!f) {
        return mt_json_null(root, "against");
    }
    cJSON *o = cJSON_AddObjectToObject(root, "against");
    bool ok = o && mt_json_str(o, "file", mt_str_from(f->file)) &&
              mt_json_u64(o, "peak_requested_bytes", f->peak) &&
              mt_json_u64(o, "reserved_bytes", f->reserved) &&
              mt_json_u64(o, "unknown_bytes", f->unknown);
    cJSON *terms = ok ? cJSON_AddArrayToObject(o, "terms") : NULL;
    ok = terms != NULL;
    for (size_t i = 0; i < e->n && ok; i++) {
        int64_t bytes = f->bytes[e->terms[i].id];
        struct mt_range expected;
        if (bytes < 0 || !mt_estimate_expected(e, e->terms[i].id, &expected)) {
            continue;
        }
        cJSON *t = cJSON_CreateObject();
        ok = t && cJSON_AddItemToArray(terms, t) &&
             mt_json_str(t, "id", mt_str_from(mt_estimate_term_name(e->terms[i].id))) &&
             mt_json_u64(t, "expected_bytes", expected.middle) &&
             mt_json_u64(t, "found_bytes", (uint64_t)bytes);
    }
    return ok;
}

static bool add_card(cJSON *root, const struct mt_estimate_answer *a)
{
    if (!a->o->card) {
        return mt_json_null(root, "card_bytes") && mt_json_null(root, "verdict") &&
               mt_json_null(root, "fits");
    }
    enum mt_verdict v = mt_estimate_verdict(&a->e->total, a->o->card);
    return mt_json_u64(root, "card_bytes", a->o->card) &&
           mt_json_str(root, "verdict", mt_str_from(mt_verdict_name(v))) &&
           (v == MT_VERDICT_TIGHT ? mt_json_null(root, "fits")
                                  : mt_json_bool(root, "fits", v == MT_VERDICT_FITS));
}

static bool put_largest(cJSON *root, const char *surely, const char *perhaps, bool counted,
                        const struct mt_largest *l)
{
    return counted ? mt_json_u64(root, surely, l->surely) && mt_json_u64(root, perhaps, l->perhaps)
                   : mt_json_null(root, surely) && mt_json_null(root, perhaps);
}

static bool add_changes(cJSON *root, const struct mt_estimate_answer *a)
{
    cJSON *list = cJSON_AddArrayToObject(root, "changes");
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < a->turned->n_changes; i++) {
        const struct mt_change *c = &a->turned->changes[i];
        cJSON *o = cJSON_CreateObject();
        ok = o && cJSON_AddItemToArray(list, o) && mt_json_str(o, "what", mt_str_from(c->what)) &&
             mt_json_i64(o, "saves_bytes", c->saves) && put_range(o, &c->total) &&
             mt_json_str(o, "verdict",
                         mt_str_from(mt_verdict_name(mt_estimate_verdict(&c->total, a->o->card))));
    }
    return ok;
}

static bool add_turned(cJSON *root, const struct mt_estimate_answer *a)
{
    const struct mt_turned *t = a->turned;
    return put_largest(root, "largest_batch", "largest_batch_perhaps", t->counted, &t->batch) &&
           put_largest(root, "largest_sequence", "largest_sequence_perhaps", t->counted,
                       &t->sequence) &&
           (t->smallest ? mt_json_str(root, "smallest_card", mt_str_from(t->smallest->name))
                        : mt_json_null(root, "smallest_card")) &&
           (t->cards ? mt_json_u64(root, "fewest_cards", t->cards)
                     : mt_json_null(root, "fewest_cards")) &&
           add_changes(root, a);
}

static bool add_serving(cJSON *root, const struct mt_serving *s)
{
    if (!s || !s->a_sequence) {
        return mt_json_null(root, "serving");
    }
    cJSON *o = cJSON_AddObjectToObject(root, "serving");
    return o && mt_json_u64(o, "cache_bytes", s->left) &&
           mt_json_u64(o, "sequence_bytes", s->a_sequence) &&
           mt_json_u64(o, "sequences", s->sequences) &&
           mt_json_u64(o, "longest_sequence", s->longest) &&
           mt_json_ratio(o, "vllm_gpu_memory_utilization", s->utilization) &&
           mt_json_ratio(o, "sglang_mem_fraction_static", s->fraction);
}

static bool add_model(cJSON *root, const struct mt_estimate_answer *a)
{
    const struct mt_model *m = a->m;
    return mt_json_str(root, "model_type", m->type) && mt_json_u64(root, "params", m->params) &&
           mt_json_u64(root, "active_params", m->active) &&
           mt_json_u64(root, "trained_params", a->o->inference ? 0 : a->e->trained) &&
           (m->stored ? mt_json_u64(root, "stored_bytes", m->stored)
                      : mt_json_null(root, "stored_bytes")) &&
           mt_json_bool(root, "inference", a->o->inference);
}

enum mt_status mt_report_estimate_json(const struct mt_report *r,
                                       const struct mt_estimate_answer *a, struct mt_error *err)
{
    const struct mt_estimate *e = a->e;
    cJSON *root = mt_json_begin(r, "estimate/1");
    bool ok = root && add_model(root, a);
    cJSON *terms = ok ? cJSON_AddArrayToObject(root, "terms") : NULL;
    ok = terms != NULL;
    for (size_t i = 0; i < e->n && ok; i++) {
        ok = add_term(terms, &e->terms[i], a->o->card);
    }
    ok =
        ok && mt_json_u64(root, "states_bytes", e->states) &&
        mt_json_u64(root, "states_all_ranks_bytes", e->states_all) &&
        mt_json_u64(root, "host_bytes", e->on_host) &&
        mt_json_u64(root, "total_bytes", e->total.middle) &&
        mt_json_u64(root, "total_low_bytes", e->total.low) &&
        mt_json_u64(root, "total_high_bytes", e->total.high) && add_card(root, a) &&
        mt_json_str(root, "largest", mt_str_from(mt_estimate_term_name(e->terms[e->largest].id))) &&
        add_turned(root, a) && add_serving(root, a->serving) && add_found(root, e, a->found);
    if (!ok) {
        cJSON_Delete(root);
        return mt_fail_nomem(err);
    }
    return mt_json_end(r, root, false, err);
}
