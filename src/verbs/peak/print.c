/* SPDX-License-Identifier: MIT */
/* peak as text and CSV. The rows, the line of others and the TOTAL add up to the headline. */
#include <inttypes.h>

#include "heap/stacks/event_labels.h"
#include "verbs/peak/print.h"
#include "print/peak_label.h"

/* ---- text ---- */

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_moment(const struct mt_report *r, const struct mt_peak *p)
{
    struct mt_sentence b = {0};
    if (!p->n_events) {
        mt_sentence_add(&b, "there is no trace: this is what the file's segments hold");
    } else if (!p->events_done) {
        mt_sentence_add(&b, "before the first of %s", mt_counted_text(p->n_events, "event").s);
    } else {
        mt_sentence_add(&b, "at event %s of %s", mt_count_text(p->events_done - 1).s,
                        mt_count_text(p->n_events).s);
    }
    if (p->since_us != MT_NO_TIME) {
        mt_sentence_add(&b, ", %s after the first", mt_duration_text(p->since_us).s);
    }
    mt_report_line(r, 4, "  %s", b.text);
}

static void print_head(const struct mt_report *r, const struct mt_snapshot *s,
                       const struct mt_peak *p)
{
    static const char *const WHAT[] = {[MT_AT_PEAK] = "Peak",
                                       [MT_AT_OOM] = "Out of memory",
                                       [MT_AT_END] = "End",
                                       [MT_AT_START] = "Start",
                                       [MT_AT_EVENT] = "Moment",
                                       [MT_AT_TIME] = "Moment",
                                       [MT_AT_STEP] = "Peak of the step",
                                       [MT_AT_ANNOTATION] = "Peak of the annotation"};
    mt_report_line(r, 2, "%s%s of device %" PRId32 ": %s requested in %s allocation%s%s",
                   mt_color_begin(r, MT_COLOR_HEAD), WHAT[p->at], p->device,
                   mt_report_size(r, p->bytes).s, mt_count_text(p->count).s,
                   p->count == 1 ? "" : "s", mt_color_end(r));
    print_moment(r, p);
    bool older = p->preexisting_bytes && p->n_events;
    if (mt_source_has_reserved(&s->source)) {
        mt_report_line(r, 4, "  reserved from the driver then: %s%s%s",
                       mt_report_size(r, p->reserved_bytes).s, older ? "; " MT_OLDER ": " : "",
                       older ? mt_report_size(r, p->preexisting_bytes).s : "");
    }
    if (p->left_out) {
        mt_report_line(r, 4, "  the filter hides %s allocation%s that live%s then",
                       mt_count_text(p->left_out).s, p->left_out == 1 ? "" : "s",
                       p->left_out == 1 ? "s" : "");
    }
    fputc('\n', r->out);
}

/* "medium confidence: temporary, workspace": of those that are not surely known. */
static void print_confidence(const struct mt_report *r, const struct mt_peak *p,
                             enum mt_sureness level)
{
    bool done[MT_CATEGORY_COUNT] = {[MT_CATEGORY_UNKNOWN] = true};
    struct mt_sentence b = {0};
    for (enum mt_category c; (c = mt_category_next(done, p->by_category)) < MT_CATEGORY_COUNT;) {
        if (mt_sureness_of(p->sure[c]) == level) {
            mt_sentence_add(&b, "%s%s", b.n ? ", " : "", mt_category_name(c));
        }
    }
    if (b.n) {
        mt_report_line(r, 4, "  %s confidence: %s", mt_sureness_name(level), b.text);
    }
}

/* "activation 61.3 %, parameter 20.1 %, ..., unknown 2.0 %": largest first, unknown always. */
static void print_categories(const struct mt_report *r, const struct mt_peak *p)
{
    bool done[MT_CATEGORY_COUNT] = {[MT_CATEGORY_UNKNOWN] = true};
    struct mt_sentence b = {0};
    for (enum mt_category c; (c = mt_category_next(done, p->by_category)) < MT_CATEGORY_COUNT;) {
        mt_sentence_add(&b, "%s %.1f %%, ", mt_category_name(c),
                        percent(p->by_category[c], p->bytes));
    }
    mt_report_line(r, 4, "  by category: %sunknown %.1f %%", b.text,
                   percent(p->by_category[MT_CATEGORY_UNKNOWN], p->bytes));
    for (int k = MT_SURE_MEDIUM; k >= MT_SURE_LOW && p->by != MT_BY_CATEGORY; k--) {
        print_confidence(r, p, (enum mt_sureness)k);
    }
}

/* On a narrow terminal the place matters more than the category; the line below sums those up. */
static bool has_category(const struct mt_report *r)
{
    return r->separator || !r->width || r->width >= 72;
}

/* Of a category how sure it is, of all else its category. */
static const char *word_of(const struct mt_peak *p, const struct mt_peak_row *row)
{
    if (p->by != MT_BY_CATEGORY) {
        return mt_peak_row_word(row);
    }
    const char *word = mt_category_sure_word((enum mt_category)row->key, p->sure[row->key]);
    return word ? word : "";
}

static void add_row(struct mt_table *t, const struct mt_report *r, const struct mt_snapshot *s,
                    const struct mt_peak *p, const struct mt_peak_row *row, struct mt_buf *b)
{
    mt_table_size(t, row->bytes);
    mt_table_cell(t, "%.1f %%", percent(row->bytes, p->bytes));
    mt_table_count(t, row->count);
    if (has_category(r)) {
        mt_table_cell(t, "%s", word_of(p, row));
    }
    mt_buf_reset(b);
    mt_peak_row_label(b, r, s, p->by, row);
    mt_table_stack(t, b, 0, s, p->by == MT_BY_STACK ? row->key : 0);
}

static void add_others_and_total(struct mt_table *t, const struct mt_report *r,
                                 const struct mt_peak *p, size_t shown)
{
    uint64_t bytes = 0;
    uint64_t count = 0;
    for (size_t i = shown; i < p->rows.n; i++) {
        bytes += p->rows.v[i].bytes;
        count += p->rows.v[i].count;
    }
    if (shown < p->rows.n) {
        mt_table_size(t, bytes);
        mt_table_cell(t, "%.1f %%", percent(bytes, p->bytes));
        mt_table_count(t, count);
        if (has_category(r)) {
            mt_table_cell(t, "%s", "");
        }
        mt_table_cell_color(t, MT_COLOR_DIM, "[%zu other%s]", p->rows.n - shown,
                            p->rows.n - shown == 1 ? "" : "s");
    }
    mt_table_rule(t);
    mt_table_size(t, p->bytes);
    mt_table_cell(t, "%s", p->bytes ? "100.0 %" : "");
    mt_table_count(t, p->count);
    if (has_category(r)) {
        mt_table_cell(t, "%s", "");
    }
    mt_table_cell_color(t, MT_COLOR_HEAD, "TOTAL");
}

static enum mt_status print_table(const struct mt_report *r, const struct mt_snapshot *s,
                                  const struct mt_peak *p, struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "SIZE", MT_RIGHT);
    mt_table_column(t, "%", MT_RIGHT);
    mt_table_column(t, "COUNT", MT_RIGHT);
    if (has_category(r)) {
        mt_table_column(t, p->by == MT_BY_CATEGORY ? "CONFIDENCE" : "CATEGORY", MT_LEFT);
    }
    mt_table_column(t, MT_PEAK_BY_TITLES[p->by], MT_LEFT);
    struct mt_buf b = {0};
    size_t shown = r->limit && r->limit < p->rows.n ? r->limit : p->rows.n;
    for (size_t i = 0; i < shown; i++) {
        add_row(t, r, s, p, &p->rows.v[i], &b);
    }
    add_others_and_total(t, r, p, shown);
    enum mt_status status = b.failed ? mt_fail_nomem(err) : mt_table_print(t, r, 0, err);
    mt_buf_release(&b);
    mt_table_free(t);
    return status;
}

/* --stack N: each row with the lines of its stack. */
static enum mt_status print_stacks(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_peak *p, struct mt_error *err)
{
    struct mt_buf b = {0};
    size_t shown = r->limit && r->limit < p->rows.n ? r->limit : p->rows.n;
    uint64_t left = p->bytes;
    for (size_t i = 0; i < shown; i++) {
        const struct mt_peak_row *row = &p->rows.v[i];
        left -= row->bytes;
        mt_buf_printf(&b, "%s%s, %.1f %%%s in %s allocation%s, %s\n",
                      mt_color_begin(r, MT_COLOR_HEAD), mt_report_size(r, row->bytes).s,
                      percent(row->bytes, p->bytes), mt_color_end(r), mt_count_text(row->count).s,
                      row->count == 1 ? "" : "s", mt_peak_row_word(row));
        mt_stack_lines(&b, s, row->key, r, 4);
    }
    if (shown < p->rows.n) {
        mt_buf_printf(&b, "%s in [%zu other%s]\n", mt_report_size(r, left).s, p->rows.n - shown,
                      p->rows.n - shown == 1 ? "" : "s");
    }
    mt_buf_printf(&b, "%s TOTAL\n", mt_report_size(r, p->bytes).s);
    mt_report_lines(r, mt_buf_view(&b).p);
    bool failed = b.failed;
    mt_buf_release(&b);
    return failed ? mt_fail_nomem(err) : MT_OK;
}

enum mt_status mt_report_peak_text(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_peak *peaks, size_t n, struct mt_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (i) {
            fputc('\n', r->out);
        }
        print_head(r, s, &peaks[i]);
        if (!peaks[i].rows.n) {
            fputs("  nothing was alive\n", r->out);
            continue;
        }
        bool stacks = peaks[i].by == MT_BY_STACK && r->stack_lines != 1;
        MT_TRY(stacks ? print_stacks(r, s, &peaks[i], err) : print_table(r, s, &peaks[i], err));
        fputc('\n', r->out);
        print_categories(r, &peaks[i]);
    }
    if (!n) {
        fputs("No device has segments or events.\n", r->out);
    }
    return MT_OK;
}

/* ---- CSV ---- */

enum mt_status mt_report_peak_csv(const struct mt_report *r, const struct mt_snapshot *s,
                                  const struct mt_peak *peaks, size_t n, struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    static const char *const TITLES[] = {"device", "bytes", "count", "largest_bytes", "category"};
    for (size_t i = 0; i < MT_COUNT(TITLES); i++) {
        mt_table_column(t, TITLES[i], MT_LEFT);
    }
    mt_table_column(t, "name", MT_LEFT);
    struct mt_buf b = {0};
    for (size_t d = 0; d < n; d++) {
        const struct mt_peak *p = &peaks[d];
        for (size_t i = 0; i < p->rows.n && (!r->limit || i < r->limit); i++) {
            const struct mt_peak_row *row = &p->rows.v[i];
            mt_table_cell(t, "%" PRId32, p->device);
            mt_table_size(t, row->bytes);
            mt_table_count(t, row->count);
            mt_table_size(t, row->largest);
            mt_table_cell(t, "%s", mt_peak_row_word(row));
            mt_buf_reset(&b);
            mt_peak_row_label(&b, r, s, p->by, row);
            mt_table_buf(t, &b);
        }
    }
    enum mt_status status = b.failed ? mt_fail_nomem(err) : mt_table_print(t, r, 0, err);
    mt_buf_release(&b);
    mt_table_free(t);
    return status;
}
