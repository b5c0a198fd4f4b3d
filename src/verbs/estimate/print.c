/* SPDX-License-Identifier: MIT */
/* The estimate as text: every term with its formula, its range and its doubt; the card; what fits;
 * what a snapshot found. */
#include "verbs/estimate/print.h"

#include <inttypes.h>

#include "print/figures.h"

#define GB 1000000000.0

static bool exact(const struct mt_range *r)
{
    return r->low == r->high;
}

/* "12.00 to 15.30 GiB" */
static void range_text(const struct mt_report *r, struct mt_sentence *s, const struct mt_range *b)
{
    mt_sentence_add(s, "%s to %s", mt_report_size(r, b->low).s, mt_report_size(r, b->high).s);
}

/* ---- terms ---- */

static void term_row(struct mt_table *t, const struct mt_report *r, const struct mt_estimate *e,
                     size_t i, uint64_t whole)
{
    const struct mt_estimate_term *term = &e->terms[i];
    struct mt_sentence range = {0};
    if (!exact(&term->bytes)) {
        range_text(r, &range, &term->bytes);
    }
    mt_table_cell(t, "%s", mt_estimate_term_name(term->id));
    mt_table_size(t, term->bytes.middle);
    mt_table_cell(t, "%s", range.text);
    mt_table_cell(t, "%s", mt_share_text(r, term->bytes.middle, whole).s);
    mt_table_cell_color(t, i == e->largest ? MT_COLOR_HEAD : MT_COLOR_NONE, "%s",
                        i == e->largest ? "largest" : "");
    mt_table_cell(t, "%s", term->formula);
}

static enum mt_status print_terms(const struct mt_report *r, const struct mt_estimate_answer *a,
                                  struct mt_error *err)
{
    uint64_t whole = a->o->card ? a->o->card : a->e->total.middle;
    struct mt_sentence range = {0};
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "TERM", MT_LEFT);
    mt_table_column(t, "SIZE", MT_RIGHT);
    mt_table_column(t, "RANGE", MT_RIGHT);
    mt_table_column(t, a->o->card ? "OF CARD" : "OF TOTAL", MT_RIGHT);
    mt_table_column(t, "", MT_LEFT);
    mt_table_column(t, "FORMULA", MT_LEFT);
    mt_table_names(t, a->o->card ? "term,bytes,,card_share,,formula"
                                 : "term,bytes,,total_share,,formula");
    for (size_t i = 0; i < a->e->n; i++) {
        term_row(t, r, a->e, i, whole);
    }
    if (!r->separator) {
        range_text(r, &range, &a->e->total);
        mt_table_rule(t);
        mt_table_cell(t, "TOTAL");
        mt_table_size(t, a->e->total.middle);
        mt_table_cell(t, "%s", range.text);
        mt_table_cell(t, "%s", mt_share_text(r, a->e->total.middle, whole).s);
        mt_table_cell(t, "%s", "");
        mt_table_cell(t, "%s", "");
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    return status;
}

static void print_head(const struct mt_report *r, const struct mt_estimate_answer *a)
{
    const struct mt_model *m = a->m;
    struct mt_sentence s = {0};
    mt_sentence_add(&s, "%s parameters", mt_count_text(m->params).s);
    if (m->active < m->params) {
        mt_sentence_add(&s, ", %s active per token", mt_count_text(m->active).s);
    }
    if (m->left_out) {
        mt_sentence_add(&s, ", without %" PRIu64 " layer%s of multi-token prediction", m->left_out,
                        m->left_out > 1 ? "s" : "");
    }
    mt_report_prose(r, 2, "%s, %s, on one device (arithmetic, not a measurement)", s.text,
                    a->o->inference ? "inference"
                    : a->o->lora    ? "training of adapters"
                                    : "training");
    fputc('\n', r->out);
}

static void print_states(const struct mt_report *r, const struct mt_estimate_answer *a)
{
    const struct mt_estimate *e = a->e;
    struct mt_sentence s = {0};
    mt_sentence_add(&s, "model states: %s (%.1f GB), %.4g B per parameter",
                    mt_report_size(r, e->states_all).s, (double)e->states_all / GB,
                    a->m->params ? (double)e->states_all / (double)a->m->params : 0);
    if (e->states != e->states_all) {
        mt_sentence_add(&s, "; on this device %s", mt_report_size(r, e->states).s);
    }
    if (e->on_host) {
        mt_sentence_add(&s, ", on the host %s", mt_report_size(r, e->on_host).s);
    }
    if (a->o->pp > 1) {
        mt_sentence_add(&s, "; the fullest pipeline stage is %" PRIu64 " of %" PRIu64, e->stage + 1,
                        a->o->pp);
    }
    fputc('\n', r->out);
    mt_report_line(r, 2, "%s", s.text);
}

/* The files' own size decides; here it stands beside the count. */
static void print_stored(const struct mt_report *r, const struct mt_model *m)
{
    static const char *const extra[] = {
        [MT_EXTRA_LAYERS] = "of layers behind the last (multi-token prediction)",
        [MT_EXTRA_HEAD] = "of an output layer, though the embedding serves for it",
        [MT_EXTRA_ROTARY] = "of rotary tables",
        [MT_EXTRA_MASKS] = "of causal masks",
    };
    struct mt_sentence s = {0};
    if (!m->stored || m->stored == m->counted) {
        return;
    }
    mt_sentence_add(&s,
                    "The files hold %s, which is taken; the tensors of the config come to %s (%s).",
                    mt_report_size(r, m->stored).s, mt_report_size(r, m->counted).s,
                    mt_report_delta(r, (int64_t)(m->stored - m->counted)).s);
    for (size_t i = 0; i < MT_EXTRA_COUNT; i++) {
        if (m->extra[i]) {
            mt_sentence_add(&s, " The index also names %s %s.",
                            mt_counted_text(m->extra[i], "tensor").s, extra[i]);
        }
    }
    mt_report_prose(r, 2, "%s", s.text);
}

/* ---- doubts ---- */

/* The term that grows with batch and sequence, when too little was given to count it. */
static const char *not_counted(const struct mt_estimate_answer *a)
{
    enum mt_estimate_id id = a->o->inference ? MT_TERM_KV_CACHE : MT_TERM_ACTIVATIONS;
    bool there =
        mt_estimate_term(a->e, id) || (a->o->inference && mt_estimate_term(a->e, MT_TERM_STATE));
    bool encoder = a->o->inference && a->m->works.n && !a->m->caches.n;
    return there || encoder ? NULL : mt_estimate_term_name(id);
}

static void print_missing(const struct mt_report *r, const char *term,
                          const struct mt_estimate_answer *a)
{
    const char *const wanted[] = {
        a->m->works.n ? NULL : "the model's shape (--config, or --layers, --hidden and --heads)",
        a->o->batch ? NULL : "--batch", a->o->sequence ? NULL : "--seq"};
    struct mt_sentence s = {0};
    size_t left = 0;
    for (size_t i = 0; i < MT_COUNT(wanted); i++) {
        left += wanted[i] != NULL;
    }
    for (size_t i = 0; i < MT_COUNT(wanted); i++) {
        if (wanted[i]) {
            left--;
            mt_sentence_add(&s, "%s%s", wanted[i], left > 1 ? ", " : left ? " and " : "");
        }
    }
    mt_report_prose(r, 17, "  %-13s  not counted: give %s", term, s.text);
}

static void print_doubts(const struct mt_report *r, const struct mt_estimate_answer *a)
{
    const char *missing = not_counted(a);
    fputs("\nin doubt:\n", r->out);
    if (missing) {
        print_missing(r, missing, a);
    }
    for (size_t i = 0; i < a->e->n; i++) {
        if (a->e->terms[i].doubt[0]) {
            mt_report_prose(r, 17, "  %-13s  %s", mt_estimate_term_name(a->e->terms[i].id),
                            a->e->terms[i].doubt);
        }
    }
}

/* ---- the card ---- */

static void print_verdict(const struct mt_report *r, const struct mt_estimate_answer *a)
{
    enum mt_verdict v = mt_estimate_verdict(&a->e->total, a->o->card);
    static const enum mt_color colors[] = {MT_COLOR_GOOD, MT_COLOR_WARN, MT_COLOR_BAD};
    const char *missing = not_counted(a);
    struct mt_sentence range = {0};
    range_text(r, &range, &a->e->total);
    mt_report_line(r, 2, "%s%s%s on a card of %s: %s needed%s%s", mt_color_begin(r, colors[v]),
                   mt_verdict_name(v), mt_color_end(r), mt_report_size(r, a->o->card).s, range.text,
                   missing && v != MT_VERDICT_NOT ? ", without " : "",
                   missing && v != MT_VERDICT_NOT ? missing : "");
}

static void print_largest(const struct mt_report *r, const char *what, const struct mt_largest *l,
                          const char *with, uint64_t of)
{
    struct mt_size_text perhaps = mt_count_text(l->perhaps);
    if (l->perhaps == 0) {
        mt_report_line(r, 4, "  largest %-9s none fits with %s %" PRIu64, what, with, of);
    } else if (l->surely == l->perhaps) {
        mt_report_line(r, 4, "  largest %-9s %s, with %s %" PRIu64, what, perhaps.s, with, of);
    } else {
        mt_report_line(r, 4, "  largest %-9s %s surely, %s at most, with %s %" PRIu64, what,
                       mt_count_text(l->surely).s, perhaps.s, with, of);
    }
}

static void print_cards(const struct mt_report *r, const struct mt_estimate_answer *a)
{
    const struct mt_turned *t = a->turned;
    if (t->smallest) {
        mt_report_line(r, 4, "  smallest card     %s, %s", t->smallest->name,
                       mt_report_size(r, t->smallest->bytes).s);
    } else {
        mt_report_line(r, 4, "  smallest card     none of those known");
    }
    if (t->cards) {
        mt_report_line(r, 4, "  fewest cards      %" PRIu64 ", with %s %" PRIu64, t->cards,
                       t->spread, t->cards);
    }
}

static void print_changes(const struct mt_report *r, const struct mt_estimate_answer *a)
{
    const struct mt_turned *t = a->turned;
    if (!t->n_changes || mt_estimate_verdict(&a->e->total, a->o->card) == MT_VERDICT_FITS) {
        return;
    }
    const char *missing = not_counted(a);
    fprintf(r->out, "\nwhat to change, by what it saves%s%s:\n", missing ? ", without " : "",
            missing ? missing : "");
    for (size_t i = 0; i < t->n_changes; i++) {
        const struct mt_change *c = &t->changes[i];
        struct mt_sentence range = {0};
        range_text(r, &range, &c->total);
        mt_report_line(r, 26, "  %-22s  %10s  then %s: %s", c->what,
                       mt_report_delta(r, -c->saves).s, range.text,
                       mt_verdict_name(mt_estimate_verdict(&c->total, a->o->card)));
    }
}

static void print_turned(const struct mt_report *r, const struct mt_estimate_answer *a)
{
    const struct mt_turned *t = a->turned;
    if (a->o->card || !not_counted(a)) {
        fputc('\n', r->out);
    }
    if (a->o->card) {
        print_verdict(r, a);
    }
    if (t->counted) {
        print_largest(r, "batch", &t->batch, "--seq", a->o->sequence);
        print_largest(r, "sequence", &t->sequence, "--batch", a->o->batch);
    }
    if (!not_counted(a)) {
        print_cards(r, a);
    }
    if (a->o->card) {
        print_changes(r, a);
    }
}

/* ---- serving ---- */

static void print_flags(const struct mt_report *r, const struct mt_estimate_answer *a)
{
    const struct mt_serving *s = a->serving;
    bool fp8 = mt_dtype_bits(a->o->kv_dtype) == 8;
    mt_report_line(r, 4,
                   "  vLLM    --max-model-len %" PRIu64 " --max-num-seqs %" PRIu64
                   " --gpu-memory-utilization %.2f --tensor-parallel-size %" PRIu64 "%s",
                   a->o->sequence, s->sequences, s->utilization, a->o->tp,
                   fp8 ? " --kv-cache-dtype fp8" : "");
    mt_report_line(r, 4,
                   "  SGLang  --context-length %" PRIu64 " --max-running-requests %" PRIu64
                   " --mem-fraction-static %.2f --tp-size %" PRIu64 "%s",
                   a->o->sequence, s->sequences, s->fraction, a->o->tp,
                   fp8 ? " --kv-cache-dtype fp8_e4m3" : "");
}

static void print_serving(const struct mt_report *r, const struct mt_estimate_answer *a)
{
    const struct mt_serving *s = a->serving;
    if (!s || !s->a_sequence) {
        return;
    }
    fputc('\n', r->out);
    if (!s->sequences) {
        mt_report_prose(r, 2,
                        "Of the card %s are left for the cache, and a sequence of %s tokens takes "
                        "%s: not one fits.",
                        mt_report_size(r, s->left).s, mt_count_text(a->o->sequence).s,
                        mt_report_size(r, s->a_sequence).s);
        return;
    }
    mt_report_prose(r, 2,
                    "Of the card %s are left for the cache: %s of %s tokens (%s each), or "
                    "one of %s.",
                    mt_report_size(r, s->left).s, mt_counted_text(s->sequences, "sequence").s,
                    mt_count_text(a->o->sequence).s, mt_report_size(r, s->a_sequence).s,
                    mt_count_text(s->longest).s);
    print_flags(r, a);
}

/* ---- a snapshot beside it ---- */

static void found_row(struct mt_table *t, const struct mt_estimate *e,
                      const struct mt_estimate_found *f, enum mt_estimate_id id)
{
    struct mt_range expected;
    bool known = mt_estimate_expected(e, id, &expected);
    int64_t found = f->bytes[id];
    if (found < 0) {
        return;
    }
    mt_table_cell(t, "%s", mt_estimate_term_name(id));
    if (!known) {
        mt_table_cell(t, "-");
        mt_table_size(t, (uint64_t)found);
        mt_table_cell(t, "-");
        mt_table_cell(t, "%s", "");
        return;
    }
    mt_table_size(t, expected.middle);
    mt_table_size(t, (uint64_t)found);
    mt_table_delta(t, found - (int64_t)expected.middle);
    bool within = (uint64_t)found >= expected.low && (uint64_t)found <= expected.high;
    mt_table_cell(t, "%s", within ? "within the range" : "");
}

static enum mt_status print_found(const struct mt_report *r, const struct mt_estimate *e,
                                  const struct mt_estimate_found *f, struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    fputs("\nfound in ", r->out);
    mt_text_put(r, f->file);
    mt_report_line(r, 2, " at its peak (%s requested, %s reserved):", mt_report_size(r, f->peak).s,
                   mt_report_size(r, f->reserved).s);
    mt_table_column(t, "TERM", MT_LEFT);
    mt_table_column(t, "EXPECTED", MT_RIGHT);
    mt_table_column(t, "FOUND", MT_RIGHT);
    mt_table_column(t, "DIFFERENCE", MT_RIGHT);
    mt_table_column(t, "", MT_LEFT);
    for (int id = 0; id < MT_TERM_COUNT; id++) {
        found_row(t, e, f, (enum mt_estimate_id)id);
    }
    enum mt_status status = mt_table_print(t, r, 2, err);
    mt_table_free(t);
    mt_report_line(r, 4, "  of no category that call stacks tell: %s",
                   mt_report_size(r, f->unknown).s);
    return status;
}

enum mt_status mt_report_estimate_text(const struct mt_report *r,
                                       const struct mt_estimate_answer *a, struct mt_error *err)
{
    if (r->separator) { /* the terms alone */
        return print_terms(r, a, err);
    }
    print_head(r, a);
    MT_TRY(print_terms(r, a, err));
    print_states(r, a);
    print_stored(r, a->m);
    print_doubts(r, a);
    print_turned(r, a);
    print_serving(r, a);
    return a->found ? print_found(r, a->e, a->found, err) : MT_OK;
}
