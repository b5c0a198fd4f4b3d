/* SPDX-License-Identifier: MIT */
/* What makes a cache large, and what would make it smaller, in words. */
#include "verbs/frag/print_behind.h"

#include "print/labels.h"

enum { NAMED = 3, SHOWN = 4 };

static bool add_lines(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                      const struct mt_pattern *x)
{
    size_t n = x->n_lines < NAMED ? x->n_lines : NAMED;
    for (size_t i = 0; i < n; i++) {
        mt_buf_text(b, i ? ", " : "");
        mt_stack_label_long(b, s, x->lines[i].stack, r);
    }
    if (x->n_lines > n) {
        mt_buf_printf(b, " and %zu more", x->n_lines - n);
    }
    return !b->failed;
}

static void add_kind(struct mt_buf *b, const struct mt_report *r, const struct mt_pattern *x)
{
    const struct mt_pattern_line *line = &x->lines[0];
    switch (x->kind) {
    case MT_PATTERN_DYNAMIC:
        mt_buf_printf(b,
                      "dynamic sizes: of %zu requests of one line %zu differ, up to %s, so a free "
                      "segment seldom fits the next one: ",
                      line->n, line->different, mt_report_size(r, line->most).s);
        break;
    case MT_PATTERN_ALTERNATING:
        mt_buf_printf(b,
                      "alternating shapes: %zu sizes from %s to %s take turns, and the cache keeps "
                      "segments for each: ",
                      line->different, mt_report_size(r, line->least).s,
                      mt_report_size(r, line->most).s);
        break;
    default:
        mt_buf_printf(b,
                      "pyramid features: %zu levels, each 1/%.1f of the one above, and all change "
                      "together: ",
                      x->in_step, x->ratio);
        break;
    }
}

static enum mt_status print_pattern(const struct mt_report *r, const struct mt_snapshot *s,
                                    const struct mt_pattern *x, struct mt_error *err)
{
    struct mt_buf b = {0};
    if (x->kind == MT_PATTERN_NONE) {
        return MT_OK;
    }
    add_kind(&b, r, x);
    bool ok = add_lines(&b, r, s, x);
    fputc('\n', r->out);
    mt_report_prose(r, 2, "The pattern behind it is %s.", mt_buf_view(&b).p);
    mt_buf_release(&b);
    return ok ? MT_OK : mt_fail_nomem(err);
}

static enum mt_status print_cures(const struct mt_report *r, const struct mt_cures *x,
                                  struct mt_error *err)
{
    size_t helps = 0;
    while (helps < x->n && x->v[helps].fits && x->v[helps].reserved < x->reserved) {
        helps++;
    }
    if (!x->n) {
        return MT_OK;
    }
    fputc('\n', r->out);
    if (!helps) {
        mt_report_prose(r, 2,
                        "Replayed with the same requests, none of %zu cures reserves less than "
                        "the %s of the recording's peak.",
                        x->n, mt_report_size(r, x->reserved).s);
        return MT_OK;
    }
    mt_report_line(r, 2, "Replayed with the same requests, the peak of %s reserved becomes:",
                   mt_report_size(r, x->reserved).s);
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "RESERVED", MT_RIGHT);
    mt_table_column(t, "CHANGE", MT_RIGHT);
    mt_table_column(t, "WITH", MT_LEFT);
    for (size_t i = 0; i < helps && i < SHOWN; i++) {
        mt_table_size(t, x->v[i].reserved);
        mt_table_delta(t, (int64_t)(x->v[i].reserved - x->reserved));
        mt_table_cell(t, "%s",
                      x->v[i].one_size ? "one size, the largest, at each of these lines"
                                       : x->v[i].conf);
    }
    enum mt_status status = mt_table_print(t, r, 2, err);
    mt_table_free(t);
    return status;
}

enum mt_status mt_report_frag_behind(const struct mt_report *r, const struct mt_snapshot *s,
                                     const struct mt_frag_result *x, struct mt_error *err)
{
    MT_TRY(print_pattern(r, s, &x->pattern, err));
    return print_cures(r, &x->cures, err);
}
