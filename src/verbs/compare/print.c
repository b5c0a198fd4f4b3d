/* SPDX-License-Identifier: MIT */
/* compare: what grew and what shrank between two snapshots. */
#include <inttypes.h>

#include "verbs/compare/print.h"
#include "print/figures.h"
#include "print/json_put.h"

static size_t shown_rows(const struct mt_report *r, size_t n)
{
    return r->limit && n > r->limit ? r->limit : n;
}

/* The stack to show, in the snapshot that has it: the later one where both do. */
static const struct mt_snapshot *row_stack(const struct mt_comparison *c,
                                           const struct mt_diff_row *row, uint32_t *stack)
{
    *stack = row->status == MT_DIFF_GONE ? row->before_stack : row->after_stack;
    return row->status == MT_DIFF_GONE ? c->before : c->after;
}

/* Rows with a change; they stand in front. */
static size_t changed_rows(const struct mt_diff *d)
{
    return d->rows.n - d->by_status[MT_DIFF_SAME];
}

/* ---- text ---- */

static struct mt_size_text change_text(const struct mt_report *r, const struct mt_diff_row *row)
{
    struct mt_size_text text = {""};
    bool word = row->status == MT_DIFF_NEW || row->status == MT_DIFF_GONE;
    if (word && !r->separator) {
        snprintf(text.s, sizeof text.s, "%s", mt_diff_status_word(row->status));
    } else if (row->before && !word) {
        double x = (double)mt_diff_delta(row->before, row->after) / (double)row->before;
        snprintf(text.s, sizeof text.s, r->separator ? "%.6f" : "%+.1f %%",
                 r->separator ? x : 100.0 * x);
    }
    return text;
}

static void count_cell(struct mt_table *t, const struct mt_report *r, uint64_t before,
                       uint64_t after)
{
    int64_t delta = mt_diff_delta(before, after);
    mt_table_cell(t, "%s%" PRId64, delta > 0 && !r->separator ? "+" : "", delta);
}

static void columns(struct mt_table *t, const struct mt_report *r)
{
    mt_table_names(t,
                   "change_bytes,change_share,before_bytes,after_bytes,change_blocks,stack,status");
    mt_table_column(t, "CHANGE", MT_RIGHT);
    mt_table_column(t, "OF BEFORE", MT_RIGHT);
    mt_table_column(t, "BEFORE", MT_RIGHT);
    mt_table_column(t, "AFTER", MT_RIGHT);
    mt_table_column(t, "BLOCKS", MT_RIGHT);
    mt_table_column(t, "STACK", MT_LEFT);
    if (r->separator) {
        mt_table_column(t, "status", MT_LEFT);
    }
}

/* All but the last, which names the row. */
static void figures(struct mt_table *t, const struct mt_report *r, const struct mt_diff_row *row)
{
    mt_table_delta(t, mt_diff_delta(row->before, row->after));
    mt_table_cell(t, "%s", change_text(r, row).s);
    mt_table_size(t, row->before);
    mt_table_size(t, row->after);
    count_cell(t, r, row->before_count, row->after_count);
}

static void add_to(struct mt_diff_row *sum, const struct mt_diff_row *row)
{
    sum->before += row->before;
    sum->after += row->after;
    sum->before_count += row->before_count;
    sum->after_count += row->after_count;
}

/* The rows from one on, which are not shown. */
static const char *others_word(const struct mt_diff *d, size_t from)
{
    return from >= changed_rows(d) ? "unchanged" : d->rows.n - from == 1 ? "other" : "others";
}

static void other_rows(struct mt_table *t, const struct mt_report *r, const struct mt_diff *d,
                       size_t from)
{
    struct mt_diff_row sum = {.status = MT_DIFF_CHANGED};
    char label[64];
    for (size_t i = from; i < d->rows.n; i++) {
        add_to(&sum, &d->rows.v[i]);
    }
    snprintf(label, sizeof label, "[%zu %s]", d->rows.n - from, others_word(d, from));
    figures(t, r, &sum);
    mt_table_cell(t, "%s", label);
}

static enum mt_status print_rows(struct mt_table *t, const struct mt_report *r,
                                 const struct mt_comparison *c, size_t shown, struct mt_error *err)
{
    struct mt_buf label = {0};
    for (size_t i = 0; i < shown; i++) {
        const struct mt_diff_row *row = &c->diff->rows.v[i];
        uint32_t stack;
        const struct mt_snapshot *s = row_stack(c, row, &stack);
        mt_buf_reset(&label);
        mt_stack_label_inner(&label, s, stack, r);
        figures(t, r, row);
        mt_table_stack(t, &label, 0, s, stack);
        if (r->separator) {
            mt_table_cell(t, "%s", mt_diff_status_word(row->status));
        }
    }
    bool failed = label.failed;
    mt_buf_release(&label);
    return failed ? mt_fail_nomem(err) : MT_OK;
}

static enum mt_status table(const struct mt_report *r, const struct mt_comparison *c,
                            struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    /* unchanged stacks say nothing here: they are one line at the end */
    size_t shown = shown_rows(r, r->limit ? changed_rows(c->diff) : c->diff->rows.n);
    columns(t, r);
    enum mt_status status = print_rows(t, r, c, shown, err);
    if (!r->separator) {
        struct mt_diff_row total = {
            c->diff->before, c->diff->after, c->diff->before_count, c->diff->after_count, 0, 0,
            MT_DIFF_CHANGED, false};
        if (shown < c->diff->rows.n) {
            other_rows(t, r, c->diff, shown);
        }
        mt_table_rule(t);
        figures(t, r, &total);
        mt_table_cell(t, "TOTAL");
    }
    if (status == MT_OK) {
        status = mt_table_print(t, r, r->separator ? 0 : 2, err);
    }
    mt_table_free(t);
    return status;
}

/* With --stack: each change with its stack below it. */
static enum mt_status stacks(const struct mt_report *r, const struct mt_comparison *c,
                             struct mt_error *err)
{
    struct mt_buf b = {0};
    size_t shown = shown_rows(r, changed_rows(c->diff));
    for (size_t i = 0; i < shown; i++) {
        const struct mt_diff_row *row = &c->diff->rows.v[i];
        uint32_t stack;
        const struct mt_snapshot *s = row_stack(c, row, &stack);
        mt_buf_printf(&b, "\n  %s  %s, from %s to %s\n",
                      mt_report_delta(r, mt_diff_delta(row->before, row->after)).s,
                      mt_diff_status_word(row->status), mt_report_size(r, row->before).s,
                      mt_report_size(r, row->after).s);
        mt_stack_lines(&b, s, stack, r, 6);
    }
    if (shown < c->diff->rows.n) {
        mt_buf_printf(&b, "\n  [%zu %s]\n", c->diff->rows.n - shown, others_word(c->diff, shown));
    }
    bool failed = b.failed;
    mt_report_lines(r, mt_buf_view(&b).p);
    mt_buf_release(&b);
    return failed ? mt_fail_nomem(err) : MT_OK;
}

static bool side(const struct mt_report *r, const char *word, uint64_t bytes, uint64_t count,
                 const char *file)
{
    struct mt_buf name = {0};
    mt_text_safe(&name, mt_str_from(file));
    mt_report_line(r, 8, "%-6s  %s in %s block%s  %s", word, mt_report_size(r, bytes).s,
                   mt_count_text(count).s, count == 1 ? "" : "s", mt_buf_view(&name).p);
    bool ok = !name.failed;
    mt_buf_release(&name);
    return ok;
}

/* False when out of memory. */
static bool head(const struct mt_report *r, const struct mt_comparison *c)
{
    const struct mt_diff *d = c->diff;
    int64_t delta = mt_diff_delta(d->before, d->after);
    bool ok = side(r, "before", d->before, d->before_count, c->before_file);
    ok &= side(r, "after", d->after, d->after_count, c->after_file);
    struct mt_sentence b = {0};
    mt_sentence_add(&b, "change  %s%s%s", mt_color_begin(r, MT_COLOR_HEAD),
                    mt_report_delta(r, delta).s, mt_color_end(r));
    if (d->before) {
        mt_sentence_add(&b, " (%+.1f %%)", 100.0 * (double)delta / (double)d->before);
    }
    mt_sentence_add(&b, ": stacks %zu new, %zu gone, %zu changed, %zu the same",
                    d->by_status[MT_DIFF_NEW], d->by_status[MT_DIFF_GONE],
                    d->by_status[MT_DIFF_CHANGED], d->by_status[MT_DIFF_SAME]);
    mt_report_line(r, 8, "%s", b.text);
    return ok;
}

/* ---- segments ---- */

static void segment_rows(struct mt_table *t, const struct mt_report *r, const struct mt_snapshot *s,
                         const uint32_t *list, size_t n, const char *side)
{
    for (size_t i = 0; i < shown_rows(r, n); i++) {
        const struct mt_segment *segment = &s->segments[list[i]];
        mt_table_cell(t, "%s", side);
        mt_table_cell(t, "%" PRId32, segment->device);
        mt_table_cell(t, "0x%" PRIx64, segment->addr);
        mt_table_size(t, segment->total_size);
        mt_table_cell(t, "%s", segment->kind == MT_POOL_SMALL ? "small" : "large");
        mt_table_cell(t, "%u", (unsigned)segment->stream);
    }
}

static enum mt_status segment_table(const struct mt_report *r, const struct mt_comparison *c,
                                    struct mt_error *err)
{
    static const char *const titles[] = {"ONLY IN", "DEVICE", "ADDRESS", "SIZE", "POOL", "STREAM"};
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < MT_COUNT(titles); i++) {
        mt_table_column(t, titles[i], i == 1 || i == 3 || i == 5 ? MT_RIGHT : MT_LEFT);
    }
    mt_table_names(t, "only_in,device,address,size_bytes,pool,stream");
    const struct mt_segment_diff *d = c->segments;
    segment_rows(t, r, c->before, d->only_before.v, d->only_before.n, "before");
    segment_rows(t, r, c->after, d->only_after.v, d->only_after.n, "after");
    if (!r->separator) {
        fputc('\n', r->out);
        mt_report_line(r, 2, "Segments only before: %zu of %zu; only after: %zu of %zu",
                       d->only_before.n, c->before->n_segments, d->only_after.n,
                       c->after->n_segments);
    }
    bool any = d->only_before.n || d->only_after.n || r->separator;
    enum mt_status status = any ? mt_table_print(t, r, r->separator ? 0 : 2, err) : MT_OK;
    mt_table_free(t);
    return status;
}

/* ---- JSON ---- */

static void put_row(struct mt_put *p, cJSON *list, const struct mt_comparison *c,
                    const struct mt_diff_row *row)
{
    cJSON *o = mt_put_object(p, list, NULL);
    uint32_t stack;
    const struct mt_snapshot *s = row_stack(c, row, &stack);
    mt_put_u64(p, o, "before_bytes", row->before);
    mt_put_u64(p, o, "after_bytes", row->after);
    mt_put_i64(p, o, "delta_bytes", mt_diff_delta(row->before, row->after));
    mt_put_u64(p, o, "before_count", row->before_count);
    mt_put_u64(p, o, "after_count", row->after_count);
    mt_put_text(p, o, "status", mt_diff_status_word(row->status));
    mt_put_bool(p, o, "moved", row->moved);
    mt_put_item(p, o, "frames", mt_json_frames(s, stack));
}

static void put_segments(struct mt_put *p, cJSON *root, const char *key,
                         const struct mt_snapshot *s, const uint32_t *list, size_t n)
{
    cJSON *array = mt_put_array(p, root, key);
    for (size_t i = 0; i < n; i++) {
        cJSON *o = mt_put_object(p, array, NULL);
        mt_put_i64(p, o, "device", s->segments[list[i]].device);
        mt_put_addr(p, o, "address", s->segments[list[i]].addr);
        mt_put_u64(p, o, "size_bytes", s->segments[list[i]].total_size);
    }
}

static enum mt_status json(const struct mt_report *r, const struct mt_comparison *c,
                           struct mt_error *err)
{
    struct mt_put p = {0};
    cJSON *root = mt_json_begin(r, "compare/1");
    const struct mt_diff *d = c->diff;
    mt_put_text(&p, root, "before_file", c->before_file);
    mt_put_u64(&p, root, "before_bytes", d->before);
    mt_put_u64(&p, root, "after_bytes", d->after);
    mt_put_i64(&p, root, "delta_bytes", mt_diff_delta(d->before, d->after));
    cJSON *list = mt_put_array(&p, root, "stacks");
    size_t shown = shown_rows(r, d->rows.n);
    int64_t rest = mt_diff_delta(d->before, d->after);
    for (size_t i = 0; i < shown; i++) {
        put_row(&p, list, c, &d->rows.v[i]);
        rest -= mt_diff_delta(d->rows.v[i].before, d->rows.v[i].after);
    }
    mt_put_i64(&p, root, "others_bytes", rest);
    mt_put_u64(&p, root, "others", d->rows.n - shown);
    if (c->segments) {
        put_segments(&p, root, "only_before", c->before, c->segments->only_before.v,
                     c->segments->only_before.n);
        put_segments(&p, root, "only_after", c->after, c->segments->only_after.v,
                     c->segments->only_after.n);
    }
    return mt_put_end(&p, r, root, false, err);
}

enum mt_status mt_report_compare(const struct mt_report *r, const struct mt_comparison *c,
                                 struct mt_error *err)
{
    if (r->json) {
        return json(r, c, err);
    }
    if (r->separator) {
        return c->segments ? segment_table(r, c, err) : table(r, c, err);
    }
    if (!head(r, c)) {
        return mt_fail_nomem(err);
    }
    if (r->stack_lines == 1) {
        fputc('\n', r->out);
        MT_TRY(table(r, c, err));
    } else {
        MT_TRY(stacks(r, c, err));
    }
    return c->segments ? segment_table(r, c, err) : MT_OK;
}
