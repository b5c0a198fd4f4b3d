/* SPDX-License-Identifier: MIT */
/* The estimate as JSON: estimate/1. */
#include "print/report_json.h"
#include "verbs/estimate/print.h"

static void put_range(struct mt_out o, const struct mt_range *b)
{
    mt_out_u64(o, "bytes", b->middle);
    mt_out_u64(o, "low_bytes", b->low);
    mt_out_u64(o, "high_bytes", b->high);
}

static void put_term(struct mt_out terms, const struct mt_estimate_term *t, uint64_t card)
{
    struct mt_out o = mt_out_object(terms, NULL);
    mt_out_text(o, "id", mt_estimate_term_name(t->id));
    put_range(o, &t->bytes);
    card ? mt_out_f64(o, "share", (double)t->bytes.middle / (double)card) : mt_out_null(o, "share");
    mt_out_text(o, "formula", t->formula);
    mt_out_text(o, "doubt", t->doubt);
}

static void put_found(struct mt_out root, const struct mt_estimate *e,
                      const struct mt_estimate_found *f)
{
    if (!f) {
        mt_out_null(root, "against");
        return;
    }
    struct mt_out o = mt_out_object(root, "against");
    mt_out_text(o, "file", f->file);
    mt_out_u64(o, "peak_requested_bytes", f->peak);
    mt_out_u64(o, "reserved_bytes", f->reserved);
    mt_out_u64(o, "unknown_bytes", f->unknown);
    struct mt_out terms = mt_out_array(o, "terms");
    for (size_t i = 0; i < e->n; i++) {
        int64_t bytes = f->bytes[e->terms[i].id];
        struct mt_range expected;
        if (bytes >= 0 && mt_estimate_expected(e, e->terms[i].id, &expected)) {
            struct mt_out t = mt_out_object(terms, NULL);
            mt_out_text(t, "id", mt_estimate_term_name(e->terms[i].id));
            mt_out_u64(t, "expected_bytes", expected.middle);
            mt_out_u64(t, "found_bytes", (uint64_t)bytes);
        }
    }
}

static void put_card(struct mt_out root, const struct mt_estimate_answer *a)
{
    enum mt_verdict v = mt_estimate_verdict(&a->e->total, a->o->card);
    mt_out_known(root, "card_bytes", a->o->card > 0, a->o->card);
    mt_out_text(root, "verdict", a->o->card ? mt_verdict_name(v) : NULL);
    !a->o->card || v == MT_VERDICT_TIGHT ? mt_out_null(root, "fits")
                                         : mt_out_bool(root, "fits", v == MT_VERDICT_FITS);
}

static void put_largest(struct mt_out root, const char *surely, const char *perhaps, bool counted,
                        const struct mt_largest *l)
{
    mt_out_known(root, surely, counted, l->surely);
    mt_out_known(root, perhaps, counted, l->perhaps);
}

static void put_changes(struct mt_out root, const struct mt_estimate_answer *a)
{
    struct mt_out list = mt_out_array(root, "changes");
    for (size_t i = 0; i < a->turned->n_changes; i++) {
        const struct mt_change *c = &a->turned->changes[i];
        struct mt_out o = mt_out_object(list, NULL);
        mt_out_text(o, "what", c->what);
        mt_out_i64(o, "saves_bytes", c->saves);
        put_range(o, &c->total);
        mt_out_text(o, "verdict", mt_verdict_name(mt_estimate_verdict(&c->total, a->o->card)));
    }
}

static void put_turned(struct mt_out root, const struct mt_estimate_answer *a)
{
    const struct mt_turned *t = a->turned;
    put_largest(root, "largest_batch", "largest_batch_perhaps", t->counted, &t->batch);
    put_largest(root, "largest_sequence", "largest_sequence_perhaps", t->counted, &t->sequence);
    mt_out_text(root, "smallest_card", t->smallest ? t->smallest->name : NULL);
    mt_out_known(root, "fewest_cards", t->cards > 0, t->cards);
    put_changes(root, a);
}

static void put_serving(struct mt_out root, const struct mt_serving *s)
{
    if (!s || !s->a_sequence) {
        mt_out_null(root, "serving");
        return;
    }
    struct mt_out o = mt_out_object(root, "serving");
    mt_out_u64(o, "cache_bytes", s->left);
    mt_out_u64(o, "sequence_bytes", s->a_sequence);
    mt_out_u64(o, "sequences", s->sequences);
    mt_out_u64(o, "longest_sequence", s->longest);
    mt_out_f64(o, "vllm_gpu_memory_utilization", s->utilization);
    mt_out_f64(o, "sglang_mem_fraction_static", s->fraction);
}

static void put_model(struct mt_out root, const struct mt_estimate_answer *a)
{
    const struct mt_model *m = a->m;
    mt_out_str(root, "model_type", m->type);
    mt_out_u64(root, "params", m->params);
    mt_out_u64(root, "active_params", m->active);
    mt_out_u64(root, "trained_params", a->o->inference ? 0 : a->e->trained);
    mt_out_known(root, "stored_bytes", m->stored > 0, m->stored);
    mt_out_bool(root, "inference", a->o->inference);
}

enum mt_status mt_report_estimate_json(const struct mt_report *r,
                                       const struct mt_estimate_answer *a, struct mt_error *err)
{
    const struct mt_estimate *e = a->e;
    struct mt_json_out json;
    struct mt_out root = mt_report_json(&json, r, "estimate/1", false);
    put_model(root, a);
    struct mt_out terms = mt_out_array(root, "terms");
    for (size_t i = 0; i < e->n; i++) {
        put_term(terms, &e->terms[i], a->o->card);
    }
    mt_out_u64(root, "states_bytes", e->states);
    mt_out_u64(root, "states_all_ranks_bytes", e->states_all);
    mt_out_u64(root, "host_bytes", e->on_host);
    mt_out_u64(root, "total_bytes", e->total.middle);
    mt_out_u64(root, "total_low_bytes", e->total.low);
    mt_out_u64(root, "total_high_bytes", e->total.high);
    put_card(root, a);
    mt_out_text(root, "largest", mt_estimate_term_name(e->terms[e->largest].id));
    put_turned(root, a);
    put_serving(root, a->serving);
    put_found(root, e, a->found);
    return mt_report_json_end(root, err);
}
