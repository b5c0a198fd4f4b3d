/* SPDX-License-Identifier: MIT */
/* fit as text and CSV: the recordings, the predictions, what fits, what grows, what is in doubt. */
#include "verbs/fit/doubts.h"

#include "heap/stacks/frames.h"
#include "print/figures.h"
#include "verbs/simulate/cures_json.h"

static void title(const struct mt_report *r, const char *words)
{
    fprintf(r->out, "\n%s%s%s\n", mt_color_begin(r, MT_COLOR_HEAD), words, mt_color_end(r));
}

static enum mt_status print_recordings(const struct mt_report *r, const struct mt_fit_report *v,
                                       struct mt_error *err)
{
    size_t n, base = mt_fit_base(v->fit);
    const struct mt_fit_recording *rows = mt_fit_recordings(v->fit, &n);
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "RECORDED", MT_RIGHT);
    mt_table_column(t, "RESERVED", MT_RIGHT);
    mt_table_column(t, "REQUESTED", MT_RIGHT);
    mt_table_column(t, "CALLS", MT_RIGHT);
    mt_table_column(t, "ALIGNED", MT_RIGHT);
    mt_table_column(t, "PATH", MT_LEFT);
    for (size_t i = 0; i < n; i++) {
        mt_table_count(t, rows[i].size);
        mt_table_size(t, rows[i].reserved);
        mt_table_size(t, rows[i].requested);
        mt_table_count(t, rows[i].calls);
        mt_table_count(t, rows[i].aligned);
        mt_table_cell(t, "%s",
                      i == base           ? "this one is replayed"
                      : rows[i].same_path ? "the same"
                      : rows[i].used      ? "another, aligned"
                                          : "another, not used");
    }
    enum mt_status status = mt_table_print(t, r, 2, err);
    mt_table_free(t);
    return status;
}

void mt_fit_label(struct mt_buf *b, const struct mt_fit_report *v, uint32_t stack,
                  const struct mt_report *r)
{
    if (v->base->stacks[stack].n == 0) {
        mt_buf_printf(b, "(no stack: %s)", mt_stackless_why(v->base, MT_STACKLESS_RECORDED));
    } else {
        mt_stack_label_inner(b, v->base, stack, r);
    }
}

static void print_laws(const struct mt_report *r, const struct mt_fit_report *v)
{
    static const char *const words[MT_FIT_LAWS] = {
        "constant", "linear", "quadratic", "in steps", "on a line that no third confirms",
        "on no law"};
    const size_t *counts = mt_fit_laws(v->fit);
    struct mt_sentence s = {0};
    mt_sentence_add(&s, "  allocations by how they grow:");
    for (size_t i = 0, told = 0; i < MT_FIT_LAWS; i++) {
        if (counts[i]) {
            mt_sentence_add(&s, "%s %s %s", told++ ? "," : "", mt_count_text(counts[i]).s,
                            words[i]);
        }
    }
    mt_report_line(r, 4, "%s", s.text);
}

static void add_run(struct mt_table *t, const struct mt_report *r, const struct mt_fit_answer *a,
                    const struct mt_fit_run *run, struct mt_buf *b)
{
    bool refused = run->verdict == MT_SIM_OUT_OF_MEMORY;
    mt_table_count(t, run->size);
    const uint64_t figures[] = {run->reserved, run->low, run->high, run->requested};
    for (size_t i = 0; i < MT_COUNT(figures); i++) {
        if (run->known) {
            mt_table_size(t, figures[i]);
        } else {
            mt_table_cell(t, "%s", r->separator ? "" : i == 0 && !refused ? "unknown" : "-");
        }
    }
    mt_sim_verdict_cell(t, r, run->verdict);
    mt_buf_reset(b);
    mt_text_safe(b, a->conf);
    mt_table_cell(t, "%s%s", a->recorded ? "as recorded" : "",
                  a->recorded               ? ""
                  : a->conf.n && !b->failed ? mt_buf_view(b).p
                                            : "defaults");
}

static enum mt_status print_predictions(const struct mt_report *r, const struct mt_fit_report *v,
                                        struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    struct mt_buf b = {0};
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "PREDICTED", MT_RIGHT);
    mt_table_column(t, "RESERVED", MT_RIGHT);
    mt_table_column(t, "AT LEAST", MT_RIGHT);
    mt_table_column(t, "AT MOST", MT_RIGHT);
    mt_table_column(t, "REQUESTED", MT_RIGHT);
    mt_table_column(t, "VERDICT", MT_LEFT);
    mt_table_column(t, "SETTINGS", MT_LEFT);
    mt_table_names(t, "size,reserved_bytes,low_bytes,high_bytes,requested_bytes,verdict,settings");
    for (size_t i = 0; i < v->n_answers; i++) {
        for (size_t k = 0; k < v->answers[i].n_runs; k++) {
            add_run(t, r, &v->answers[i], &v->answers[i].runs[k], &b);
        }
    }
    enum mt_status status = mt_table_print(t, r, r->separator ? 0 : 2, err);
    mt_buf_release(&b);
    mt_table_free(t);
    return status;
}

static void print_largest(const struct mt_report *r, const struct mt_fit_report *v,
                          const struct mt_fit_answer *a, struct mt_buf *b)
{
    struct mt_sentence s = {0};
    uint64_t bound = mt_fit_bound(a);
    mt_buf_reset(b);
    mt_text_safe(b, a->conf);
    const char *conf = a->recorded               ? "as recorded"
                       : a->conf.n && !b->failed ? mt_buf_view(b).p
                                                 : "defaults";
    if (a->fits.verdict == MT_SIM_UNKNOWN) {
        mt_sentence_add(&s, "  %s: not known, a library chooses too much of it", conf);
    } else if (a->fits.size == 0) {
        mt_sentence_add(&s, "  %s: not even %s 1 fits %s", conf, v->what,
                        mt_report_size(r, bound).s);
    } else {
        mt_sentence_add(&s, "  %s: %s %s fits, reserving %s of %s, %s to spare", conf, v->what,
                        mt_count_text(a->fits.size).s, mt_report_size(r, a->fits.reserved).s,
                        mt_report_size(r, bound).s, mt_report_size(r, bound - a->fits.reserved).s);
    }
    if (a->next.size && a->fits.verdict != MT_SIM_UNKNOWN) {
        mt_buf_reset(b);
        mt_fit_label(b, v, a->next.refused_stack, r);
        mt_sentence_add(&s, "; at %s a request of %s is refused, %s", mt_count_text(a->next.size).s,
                        mt_report_size(r, a->next.refused).s, b->failed ? "" : mt_buf_view(b).p);
    }
    mt_report_line(r, 4, "%s", s.text);
}

static void add_cure(struct mt_table *t, const struct mt_report *r, const struct mt_fit_report *v,
                     const struct mt_sim_cure *c, struct mt_buf *b)
{
    mt_sim_verdict_cell(t, r, c->verdict);
    mt_table_size(t, c->reserved);
    mt_table_delta(t, (int64_t)(c->reserved - v->cures->reserved));
    mt_table_count(t, c->device_calls);
    mt_buf_reset(b);
    mt_sim_cure_words(b, v->base, c);
    mt_table_buf(t, b);
}

static enum mt_status print_cures(const struct mt_report *r, const struct mt_fit_report *v,
                                  struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    struct mt_buf b = {0};
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "VERDICT", MT_LEFT);
    mt_table_column(t, "RESERVED", MT_RIGHT);
    mt_table_column(t, "CHANGE", MT_RIGHT);
    mt_table_column(t, "CALLS", MT_RIGHT);
    mt_table_column(t, "CURE", MT_LEFT);
    for (size_t i = 0; i < v->cures->list.n; i++) {
        add_cure(t, r, v, &v->cures->list.v[i], &b);
    }
    fprintf(r->out, "\n%scures for %s %s%s, which needs %s, by replay:\n",
            mt_color_begin(r, MT_COLOR_HEAD), v->what, mt_count_text(v->advised).s, mt_color_end(r),
            mt_report_size(r, v->cures->reserved).s);
    if (v->cures->list.n == 0) {
        mt_report_line(r, 4, "  none of those that were tried reserves less");
    }
    enum mt_status status = v->cures->list.n ? mt_table_print(t, r, 2, err) : MT_OK;
    mt_buf_release(&b);
    mt_table_free(t);
    return status;
}

static enum mt_status print_growing(const struct mt_report *r, const struct mt_fit_report *v,
                                    struct mt_error *err)
{
    size_t n;
    const struct mt_fit_stack *rows = mt_fit_growing(v->fit, &n);
    struct mt_table *t = mt_table_new();
    struct mt_buf b = {0};
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "PER UNIT", MT_RIGHT);
    mt_table_column(t, "CALLS", MT_RIGHT);
    mt_table_column(t, "WHERE", MT_LEFT);
    for (size_t i = 0; i < n && i < MT_FIT_GROWING; i++) {
        mt_table_size(t, (uint64_t)rows[i].per_unit);
        mt_table_count(t, rows[i].count);
        mt_buf_reset(&b);
        mt_fit_label(&b, v, rows[i].stack, r);
        mt_table_buf(t, &b);
    }
    title(r, "grows fastest (bytes by which one call grows per unit):");
    enum mt_status status = n ? mt_table_print(t, r, 2, err) : MT_OK;
    mt_buf_release(&b);
    mt_table_free(t);
    return status;
}

static enum mt_status print_doubts(const struct mt_report *r, const struct mt_fit_report *v,
                                   struct mt_error *err)
{
    struct mt_fit_doubts doubts = {{0}};
    enum mt_status status = mt_fit_doubts_find(&doubts, r, v, err);
    if (status == MT_OK && doubts.list.n) {
        title(r, "in doubt:");
        for (size_t i = 0; i < doubts.list.n; i++) {
            mt_report_prose(r, 4, "  - %s", doubts.list.v[i].text);
        }
    }
    mt_fit_doubts_release(&doubts);
    return status;
}

static void print_all_largest(const struct mt_report *r, const struct mt_fit_report *v)
{
    struct mt_buf b = {0};
    bool told = false;
    for (size_t i = 0; i < v->n_answers; i++) {
        if (v->answers[i].searched) {
            if (!told) {
                title(r, "largest that fits:");
                told = true;
            }
            print_largest(r, v, &v->answers[i], &b);
        }
    }
    mt_buf_release(&b);
}

enum mt_status mt_report_fit_text(const struct mt_report *r, const struct mt_fit_report *v,
                                  struct mt_error *err)
{
    size_t n, n_runs = v->n_answers ? v->answers[0].n_runs : 0;
    struct mt_buf b = {0};
    mt_fit_recordings(v->fit, &n);
    mt_text_safe(&b, mt_fit_conf(v->fit));
    mt_report_line(r, 2, "%sFit%s: %zu recordings by %s, %s", mt_color_begin(r, MT_COLOR_HEAD),
                   mt_color_end(r), n, v->what,
                   mt_fit_conf(v->fit).n && !b.failed ? mt_buf_view(&b).p : "default settings");
    mt_buf_release(&b);
    MT_TRY(print_recordings(r, v, err));
    print_laws(r, v);
    if (n_runs) {
        title(r, "predicted peaks:");
        MT_TRY(print_predictions(r, v, err));
    }
    print_all_largest(r, v);
    MT_TRY(v->advised ? print_cures(r, v, err) : MT_OK);
    MT_TRY(print_growing(r, v, err));
    return print_doubts(r, v, err);
}

enum mt_status mt_report_fit_csv(const struct mt_report *r, const struct mt_fit_report *v,
                                 struct mt_error *err)
{
    return print_predictions(r, v, err);
}
