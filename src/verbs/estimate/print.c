/* SPDX-License-Identifier: MIT */
/* The estimate as a sum: every term with its formula and its doubt, the card, and what a snapshot
 * found. */
#include "verbs/estimate/print.h"

#include <inttypes.h>

#include "print/figures.h"

#define GB 1000000000.0

static double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* ---- text ---- */

static void term_row(struct mt_table *t, const struct mt_report *r, const struct mt_estimate *e,
                     size_t i, uint64_t whole)
{
    const struct mt_estimate_term *term = &e->terms[i];
    bool largest = i == e->largest;
    mt_table_cell(t, "%s", mt_estimate_term_name(term->id));
    mt_table_size(t, term->bytes);
    mt_table_cell(t, "%s", mt_share_text(r, term->bytes, whole).s);
    mt_table_cell_color(t, largest ? MT_COLOR_HEAD : MT_COLOR_NONE, "%s", largest ? "largest" : "");
    mt_table_cell(t, "%s", term->formula);
}

static enum mt_status print_terms(const struct mt_report *r, const struct mt_estimate *e,
                                  const struct mt_estimate_options *o, struct mt_error *err)
{
    uint64_t whole = o->card ? o->card : e->total;
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "TERM", MT_LEFT);
    mt_table_column(t, "SIZE", MT_RIGHT);
    mt_table_column(t, o->card ? "OF CARD" : "OF TOTAL", MT_RIGHT);
    mt_table_column(t, "", MT_LEFT);
    mt_table_column(t, "FORMULA", MT_LEFT);
    mt_table_names(t,
                   o->card ? "term,bytes,card_share,,formula" : "term,bytes,total_share,,formula");
    for (size_t i = 0; i < e->n; i++) {
        term_row(t, r, e, i, whole);
    }
    if (!r->separator) {
        mt_table_rule(t);
        mt_table_cell(t, "TOTAL");
        mt_table_size(t, e->total);
        mt_table_cell(t, "%s", mt_share_text(r, e->total, whole).s);
        mt_table_cell(t, "%s", "");
        mt_table_cell(t, "%s", "");
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    return status;
}

static void print_states(const struct mt_report *r, const struct mt_estimate *e,
                         const struct mt_estimate_options *o)
{
    double per_param = (double)e->states_all / (double)o->model.params;
    struct mt_sentence b = {0};
    mt_sentence_add(&b, "model states: %s (%.1f GB), %.4g B a parameter",
                    mt_report_size(r, e->states_all).s, (double)e->states_all / GB, per_param);
    if (e->states != e->states_all) {
        mt_sentence_add(&b, "; on each of %" PRIu64 " ranks %s", o->ranks,
                        mt_report_size(r, e->states).s);
    }
    fputc('\n', r->out);
    mt_report_line(r, 2, "%s", b.text);
}

/* The term that grows with batch and sequence, when too little was given to count it; else NULL. */
static const char *not_counted(const struct mt_estimate *e, const struct mt_estimate_options *o)
{
    enum mt_estimate_id id = o->inference ? MT_TERM_KV_CACHE : MT_TERM_ACTIVATIONS;
    for (size_t i = 0; i < e->n; i++) {
        if (e->terms[i].id == id) {
            return NULL;
        }
    }
    return mt_estimate_term_name(id);
}

/* What would have to be given to count it. */
static void print_missing(const struct mt_report *r, const char *term,
                          const struct mt_estimate_options *o)
{
    const struct mt_model_shape *m = &o->model;
    bool shape = m->layers && (o->inference ? m->kv_heads && m->head_dim : m->hidden > 0);
    const char *const wanted[] = {shape          ? NULL
                                  : o->inference ? "the model's shape (--config, or --layers, "
                                                   "--hidden and --heads)"
                                                 : "the model's shape (--config, or --layers "
                                                   "and --hidden)",
                                  o->batch ? NULL : "--batch", o->sequence ? NULL : "--seq"};
    struct mt_sentence b = {0};
    size_t left = 0;
    for (size_t i = 0; i < MT_COUNT(wanted); i++) {
        left += wanted[i] != NULL;
    }
    for (size_t i = 0; i < MT_COUNT(wanted); i++) {
        if (wanted[i]) {
            left--;
            mt_sentence_add(&b, "%s%s", wanted[i], left > 1 ? ", " : left ? " and " : "");
        }
    }
    mt_report_prose(r, 17, "  %-13s  not counted: give %s", term, b.text);
}

static void print_doubts(const struct mt_report *r, const struct mt_estimate *e,
                         const struct mt_estimate_options *o)
{
    const char *missing = not_counted(e, o);
    fputs("\nin doubt:\n", r->out);
    if (missing) {
        print_missing(r, missing, o);
    }
    for (size_t i = 0; i < e->n; i++) {
        if (e->terms[i].doubt[0]) {
            mt_report_prose(r, 17, "  %-13s  %s", mt_estimate_term_name(e->terms[i].id),
                            e->terms[i].doubt);
        }
    }
}

/* What would have to go for the rest to fit; only named where one term alone decides. */
static void print_without(const struct mt_report *r, const struct mt_estimate *e, uint64_t card)
{
    const struct mt_estimate_term *largest = &e->terms[e->largest];
    bool alone = e->total - largest->bytes <= card;
    mt_report_line(r, 4, "  without %s (the largest term) it would %sfit",
                   mt_estimate_term_name(largest->id), alone ? "" : "still not ");
}

static void print_card(const struct mt_report *r, const struct mt_estimate *e,
                       const struct mt_estimate_options *o)
{
    uint64_t card = o->card;
    const char *missing = not_counted(e, o);
    if (!card) {
        return;
    }
    bool fits = e->total <= card;
    uint64_t gap = fits ? card - e->total : e->total - card;
    fputc('\n', r->out);
    mt_report_line(r, 2, "%s%s%s on a card of %s: %s %s%s%s",
                   mt_color_begin(r, fits ? MT_COLOR_GOOD : MT_COLOR_BAD),
                   fits ? "fits" : "does not fit", mt_color_end(r), mt_report_size(r, card).s,
                   mt_report_size(r, gap).s, fits ? "to spare" : "too much",
                   missing && fits ? ", without " : "", missing && fits ? missing : "");
    if (!fits) {
        print_without(r, e, card);
    } else if (e->total > card / 10 * 9) {
        mt_report_line(r, 4, "  less than a tenth is left: the doubts above decide");
    }
}

/* A term that a snapshot can tell, whether or not it was estimated. */
static void found_row(struct mt_table *t, const struct mt_estimate *e,
                      const struct mt_estimate_found *f, enum mt_estimate_id id)
{
    const struct mt_estimate_term *expected = NULL;
    for (size_t i = 0; i < e->n; i++) {
        expected = e->terms[i].id == id ? &e->terms[i] : expected;
    }
    if (f->bytes[id] < 0) {
        return;
    }
    mt_table_cell(t, "%s", mt_estimate_term_name(id));
    if (expected) {
        mt_table_size(t, expected->bytes);
    } else {
        mt_table_cell(t, "-");
    }
    mt_table_size(t, (uint64_t)f->bytes[id]);
    if (expected) {
        mt_table_delta(t, f->bytes[id] - (int64_t)expected->bytes);
    } else {
        mt_table_cell(t, "-");
    }
}

static enum mt_status print_found(const struct mt_report *r, const struct mt_estimate *e,
                                  const struct mt_estimate_found *f, struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    struct mt_buf name = {0};
    mt_text_safe(&name, mt_str_from(f->file));
    fputc('\n', r->out);
    mt_report_line(r, 2,
                   "found in %s at its peak (%s requested, %s reserved):", mt_buf_view(&name).p,
                   mt_report_size(r, f->peak).s, mt_report_size(r, f->reserved).s);
    bool failed = name.failed;
    mt_buf_release(&name);
    mt_table_column(t, "TERM", MT_LEFT);
    mt_table_column(t, "EXPECTED", MT_RIGHT);
    mt_table_column(t, "FOUND", MT_RIGHT);
    mt_table_column(t, "DIFFERENCE", MT_RIGHT);
    for (int id = 0; id < MT_TERM_COUNT; id++) {
        found_row(t, e, f, (enum mt_estimate_id)id);
    }
    enum mt_status status = failed ? mt_fail_nomem(err) : mt_table_print(t, r, 2, err);
    mt_table_free(t);
    mt_report_line(r, 4, "  of no category that call stacks tell: %s",
                   mt_report_size(r, f->unknown).s);
    return status;
}

enum mt_status mt_report_estimate_text(const struct mt_report *r, const struct mt_estimate *e,
                                       const struct mt_estimate_options *o,
                                       const struct mt_estimate_found *found, struct mt_error *err)
{
    if (r->separator) { /* the terms alone */
        return print_terms(r, e, o, err);
    }
    mt_report_line(r, 2, "%s parameters, %s, on one device (arithmetic, not a measurement)",
                   mt_count_text(o->model.params).s, o->inference ? "inference" : "training");
    fputc('\n', r->out);
    MT_TRY(print_terms(r, e, o, err));
    print_states(r, e, o);
    print_doubts(r, e, o);
    print_card(r, e, o);
    return found ? print_found(r, e, found, err) : MT_OK;
}

/* ---- JSON ---- */

static bool add_term(cJSON *array, const struct mt_estimate_term *t, uint64_t card)
{
    cJSON *o = cJSON_CreateObject();
    return o && cJSON_AddItemToArray(array, o) &&
           mt_json_str(o, "id", mt_str_from(mt_estimate_term_name(t->id))) &&
           mt_json_u64(o, "bytes", t->bytes) &&
           (card ? mt_json_ratio(o, "share", share_of(t->bytes, card))
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
        cJSON *t = bytes >= 0 ? cJSON_CreateObject() : NULL;
        if (bytes < 0) {
            continue;
        }
        ok = t && cJSON_AddItemToArray(terms, t) &&
             mt_json_str(t, "id", mt_str_from(mt_estimate_term_name(e->terms[i].id))) &&
             mt_json_u64(t, "expected_bytes", e->terms[i].bytes) &&
             mt_json_u64(t, "found_bytes", (uint64_t)bytes);
    }
    return ok;
}

enum mt_status mt_report_estimate_json(const struct mt_report *r, const struct mt_estimate *e,
                                       const struct mt_estimate_options *o,
                                       const struct mt_estimate_found *found, struct mt_error *err)
{
    cJSON *root = mt_json_begin(r, "estimate/1");
    bool ok = root && mt_json_u64(root, "params", o->model.params) &&
              mt_json_bool(root, "inference", o->inference);
    cJSON *terms = ok ? cJSON_AddArrayToObject(root, "terms") : NULL;
    ok = terms != NULL;
    for (size_t i = 0; i < e->n && ok; i++) {
        ok = add_term(terms, &e->terms[i], o->card);
    }
    ok =
        ok && mt_json_u64(root, "states_bytes", e->states) &&
        mt_json_u64(root, "states_all_ranks_bytes", e->states_all) &&
        mt_json_u64(root, "total_bytes", e->total) &&
        (o->card ? mt_json_u64(root, "card_bytes", o->card) : mt_json_null(root, "card_bytes")) &&
        (o->card ? mt_json_bool(root, "fits", e->total <= o->card) : mt_json_null(root, "fits")) &&
        mt_json_str(root, "largest", mt_str_from(mt_estimate_term_name(e->terms[e->largest].id))) &&
        add_found(root, e, found);
    if (!ok) {
        cJSON_Delete(root);
        return mt_fail_nomem(err);
    }
    return mt_json_end(r, root, false, err);
}

/* ---- the usual sizes ---- */

/* Bytes a parameter: in tables of this kind sizes are decimal, as the parameters are. */
static const struct {
    const char *name;
    unsigned weights, gradients, optimizer;
    const char *what;
} accounts[] = {
    {"mixed", 2, 2, 12, "bf16 weights and gradients; fp32 copy and two moments"},
    {"fp32", 4, 4, 12, "fp32 weights and gradients; fp32 copy and two moments"},
};
_Static_assert(2 + 2 + 12 == MT_STATES_MIXED && 4 + 4 + 12 == MT_STATES_FP32, "the two accounts");

static const unsigned usual_billions[] = {7, 13, 70};

static enum mt_status table_json(const struct mt_report *r, struct mt_error *err)
{
    cJSON *root = mt_json_begin(r, "estimate_table/1");
    cJSON *rows = root ? cJSON_AddArrayToObject(root, "rows") : NULL;
    bool ok = rows != NULL;
    for (size_t i = 0; ok && i < MT_COUNT(usual_billions) * MT_COUNT(accounts); i++) {
        uint64_t params = usual_billions[i / MT_COUNT(accounts)] * UINT64_C(1000000000);
        size_t a = i % MT_COUNT(accounts);
        cJSON *o = cJSON_CreateObject();
        ok = o && cJSON_AddItemToArray(rows, o) && mt_json_u64(o, "params", params) &&
             mt_json_str(o, "account", mt_str_from(accounts[a].name)) &&
             mt_json_u64(o, "weights_bytes", params * accounts[a].weights) &&
             mt_json_u64(o, "gradients_bytes", params * accounts[a].gradients) &&
             mt_json_u64(o, "optimizer_bytes", params * accounts[a].optimizer) &&
             mt_json_u64(o, "total_bytes",
                         params *
                             (accounts[a].weights + accounts[a].gradients + accounts[a].optimizer));
    }
    if (!ok) {
        cJSON_Delete(root);
        return mt_fail_nomem(err);
    }
    return mt_json_end(r, root, false, err);
}

#define ZEROS "000000000" /* a billion, in digits */

static void table_row(struct mt_table *t, bool csv, unsigned billions, size_t account)
{
    unsigned weights = accounts[account].weights, gradients = accounts[account].gradients,
             optimizer = accounts[account].optimizer;
    mt_table_cell(t, csv ? "%u" ZEROS : "%u B", billions);
    mt_table_cell(t, "%s", accounts[account].name);
    const unsigned gb[] = {weights, gradients, optimizer, weights + gradients + optimizer};
    for (size_t i = 0; i < MT_COUNT(gb); i++) {
        mt_table_cell(t, csv ? "%u" ZEROS : "%u GB", billions * gb[i]);
    }
    mt_table_cell(t, "%u", weights + gradients + optimizer);
}

enum mt_status mt_report_estimate_table(const struct mt_report *r, struct mt_error *err)
{
    if (r->json) {
        return table_json(r, err);
    }
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "PARAMETERS", MT_RIGHT);
    mt_table_column(t, "ACCOUNT", MT_LEFT);
    mt_table_column(t, "WEIGHTS", MT_RIGHT);
    mt_table_column(t, "GRADIENTS", MT_RIGHT);
    mt_table_column(t, "OPTIMIZER", MT_RIGHT);
    mt_table_column(t, "STATES", MT_RIGHT);
    mt_table_column(t, "B/PARAMETER", MT_RIGHT);
    mt_table_names(t, "parameters,account,weights_bytes,gradients_bytes,optimizer_bytes,"
                      "states_bytes,bytes_per_parameter");
    for (size_t a = 0; a < MT_COUNT(accounts); a++) {
        for (size_t i = 0; i < MT_COUNT(usual_billions); i++) {
            table_row(t, r->separator != 0, usual_billions[i], a);
        }
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    if (!r->separator) {
        fputc('\n', r->out);
        mt_report_line(
            r, 2, "GB are 10^9 bytes. Training with Adam, without activations, before sharding:");
        for (size_t a = 0; a < MT_COUNT(accounts); a++) {
            mt_report_line(r, 9, "  %-6s %s", accounts[a].name, accounts[a].what);
        }
    }
    return status;
}
