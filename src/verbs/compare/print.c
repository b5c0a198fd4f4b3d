/* SPDX-License-Identifier: MIT */
/* compare: what grew and what shrank between two snapshots. */
#include <inttypes.h>

#include "verbs/compare/print.h"
#include "print/figures.h"
#include "print/peak_label.h"

static size_t shown_rows(const struct mt_report *r, size_t n)
{
    return r->limit && n > r->limit ? r->limit : n;
}

const struct mt_snapshot *mt_compare_row_stack(const struct mt_comparison *c,
                                               const struct mt_diff_row *row, uint32_t *stack)
{
    *stack = row->status == MT_DIFF_GONE ? row->before_stack : row->after_stack;
    return row->status == MT_DIFF_GONE ? c->before->s : c->after->s;
}

/* Rows with a change; they stand in front. */
static size_t changed_rows(const struct mt_diff *d)
{
    return d->rows.n - d->by_status[MT_DIFF_SAME];
}

/* ---- text ---- */

/* "+12.3 %"; of 4 B that became 1 GiB nobody reads the per cent. */
static struct mt_size_text share_text(int64_t change, uint64_t before)
{
    enum { MANY = 1000 };
    struct mt_size_text text;
    double x = (double)change / (double)before;
    if (x < MANY) {
        snprintf(text.s, sizeof text.s, "%+.1f %%", 100.0 * x);
    } else {
        snprintf(text.s, sizeof text.s, "over x%d", MANY);
    }
    return text;
}

static struct mt_size_text change_text(const struct mt_report *r, const struct mt_diff_row *row)
{
    struct mt_size_text text = {""};
    bool word = row->status == MT_DIFF_NEW || row->status == MT_DIFF_GONE;
    int64_t change = mt_diff_delta(row->before, row->after);
    if (word && !r->separator) {
        snprintf(text.s, sizeof text.s, "%s", mt_diff_status_word(row->status));
    } else if (row->before && !word && r->separator) {
        snprintf(text.s, sizeof text.s, "%.6f", (double)change / (double)row->before);
    } else if (row->before && !word) {
        text = share_text(change, row->before);
    }
    return text;
}

static void count_cell(struct mt_table *t, const struct mt_report *r, uint64_t before,
                       uint64_t after)
{
    int64_t delta = mt_diff_delta(before, after);
    mt_table_cell(t, "%s%" PRId64, delta > 0 && !r->separator ? "+" : "", delta);
}

static void columns(struct mt_table *t, const struct mt_report *r, const struct mt_comparison *c)
{
    mt_table_names(t,
                   "change_bytes,change_share,before_bytes,after_bytes,change_blocks,stack,status");
    mt_table_column(t, "CHANGE", MT_RIGHT);
    mt_table_column(t, "OF BEFORE", MT_RIGHT);
    mt_table_column(t, "BEFORE", MT_RIGHT);
    mt_table_column(t, "AFTER", MT_RIGHT);
    mt_table_column(t, "BLOCKS", MT_RIGHT);
    mt_table_column(t, c->options->by == MT_BY_STACK ? "STACK" : MT_PEAK_BY_TITLES[c->options->by],
                    MT_LEFT);
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

/* How a row was matched, where not exactly: its mark, what --stack says, the note below the table.
 */
static const struct {
    const char *mark, *words, *note;
} MATCHES[] = {
    [MT_DIFF_EXACT] = {"", "", ""},
    [MT_DIFF_MOVED] = {"~ ", ", lines moved", "  ~ matched across moved lines"},
    [MT_DIFF_GENERATED] = {"* ", ", code generated anew",
                           "  * in code that torch.compile generated anew, matched by the order of "
                           "its lines"},
    [MT_DIFF_REROUTED] =
        {"= ", ", other library frames",
         "  = matched by the program's own frames: the library frames between them "
         "differ"},
};

/* The last column. */
static void name_cell(struct mt_table *t, const struct mt_report *r, const struct mt_comparison *c,
                      const struct mt_diff_row *row, struct mt_buf *label)
{
    uint32_t stack;
    const struct mt_snapshot *s = mt_compare_row_stack(c, row, &stack);
    mt_buf_reset(label);
    if (row->name.p) {
        mt_buf_str(label, row->name);
        mt_table_buf(t, label);
        return;
    }
    mt_buf_text(label, r->separator ? "" : MATCHES[row->match].mark);
    size_t from = label->n;
    mt_stack_label_inner(label, s, stack, r);
    mt_table_stack(t, label, from, s, stack);
}

static enum mt_status print_rows(struct mt_table *t, const struct mt_report *r,
                                 const struct mt_comparison *c, size_t shown, struct mt_error *err)
{
    struct mt_buf label = {0};
    for (size_t i = 0; i < shown; i++) {
        const struct mt_diff_row *row = &c->diff->rows.v[i];
        figures(t, r, row);
        name_cell(t, r, c, row, &label);
        if (r->separator) {
            mt_table_cell(t, "%s", mt_diff_status_word(row->status));
        }
    }
    bool failed = label.failed;
    mt_buf_release(&label);
    return failed ? mt_fail_nomem(err) : MT_OK;
}

static void print_marks(const struct mt_report *r, const struct mt_diff *d, size_t shown)
{
    for (size_t match = MT_DIFF_MOVED; match < MT_COUNT(MATCHES); match++) {
        bool any = false;
        for (size_t i = 0; i < shown; i++) {
            any |= d->rows.v[i].match == match;
        }
        if (any) {
            mt_report_line(r, 2, "%s", MATCHES[match].note);
        }
    }
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
    columns(t, r, c);
    enum mt_status status = print_rows(t, r, c, shown, err);
    if (!r->separator) {
        struct mt_diff_row total = {.before = c->diff->before,
                                    .after = c->diff->after,
                                    .before_count = c->diff->before_count,
                                    .after_count = c->diff->after_count,
                                    .status = MT_DIFF_CHANGED};
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
    if (!r->separator) {
        print_marks(r, c->diff, shown);
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
        const struct mt_snapshot *s = mt_compare_row_stack(c, row, &stack);
        mt_buf_printf(&b, "\n  %s  %s%s, from %s to %s\n",
                      mt_report_delta(r, mt_diff_delta(row->before, row->after)).s,
                      mt_diff_status_word(row->status), MATCHES[row->match].words,
                      mt_report_size(r, row->before).s, mt_report_size(r, row->after).s);
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

/* "device 0 after event 1,205 of 2,400". */
static void say_moments(struct mt_buf *b, const struct mt_compare_side *side)
{
    for (size_t i = 0; i < side->moments.n; i++) {
        const struct mt_compare_moment *m = &side->moments.v[i];
        if (side->moments.n > 1) {
            mt_buf_printf(b, ", device %" PRId32, m->device);
        }
        if (m->events_done) {
            mt_buf_printf(b, "%s after event %s of %s", side->moments.n > 1 ? "" : ",",
                          mt_count_text(m->events_done - 1).s, mt_count_text(m->n_events).s);
        }
    }
}

/* Then what is reserved is the highest of each trace. */
static bool at_peak(const struct mt_comparison *c)
{
    return c->options->at.kind == MT_AT_PEAK;
}

static bool say_side(const struct mt_report *r, const char *word, const struct mt_comparison *c,
                     const struct mt_compare_side *side)
{
    struct mt_buf b = {0};
    bool dump = mt_compare_is_of_dump(c->options);
    mt_buf_printf(&b, "%-6s  %s in %s", word, mt_report_size(r, side->live).s,
                  mt_counted_text(side->count, dump ? "block" : "allocation").s);
    if (at_peak(c)) {
        say_moments(&b, side);
    }
    mt_buf_printf(&b, at_peak(c) ? "; reserved up to %s" : ", %s reserved",
                  mt_report_size(r, side->reserved).s);
    if (!at_peak(c)) {
        say_moments(&b, side);
    }
    mt_buf_text(&b, "  ");
    mt_text_safe(&b, mt_str_from(side->file));
    mt_report_line(r, 8, "%s", mt_buf_view(&b).p);
    bool ok = !b.failed;
    mt_buf_release(&b);
    return ok;
}

static void say_change(const struct mt_report *r, const struct mt_comparison *c)
{
    const struct mt_diff *d = c->diff;
    int64_t live = mt_diff_delta(d->before, d->after);
    int64_t reserved = mt_diff_delta(c->before->reserved, c->after->reserved);
    struct mt_sentence b = {0};
    mt_sentence_add(&b, "change  %s%s%s", mt_color_begin(r, MT_COLOR_HEAD),
                    mt_report_delta(r, live).s, mt_color_end(r));
    if (d->before) {
        mt_sentence_add(&b, " (%s)", share_text(live, d->before).s);
    }
    mt_sentence_add(&b, ": %s %zu new, %zu gone, %zu changed, %zu the same",
                    c->options->by == MT_BY_STACK ? "stacks" : "rows", d->by_status[MT_DIFF_NEW],
                    d->by_status[MT_DIFF_GONE], d->by_status[MT_DIFF_CHANGED],
                    d->by_status[MT_DIFF_SAME]);
    mt_report_line(r, 8, "%s", b.text);
    b = (struct mt_sentence){0};
    mt_sentence_add(&b, "        %s %s", at_peak(c) ? "highest reserved" : "reserved",
                    mt_report_delta(r, reserved).s);
    if (!c->filtered) {
        mt_sentence_add(&b, "; %s (cached, holes, rounding) %s",
                        at_peak(c) ? "beyond the peak in use" : "reserved but not in use",
                        mt_report_delta(r, reserved - live).s);
    }
    mt_report_line(r, 8, "%s", b.text);
}

static void safe_cell(struct mt_table *t, const struct mt_buf *text, struct mt_buf *scratch)
{
    mt_buf_reset(scratch);
    mt_text_limited(scratch, mt_buf_view(text));
    mt_table_buf(t, scratch);
}

static enum mt_status difference_table(const struct mt_report *r, const struct mt_differences *d,
                                       struct mt_error *err)
{
    struct mt_buf b = {0};
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "DIFFERS", MT_LEFT);
    mt_table_column(t, "BEFORE", MT_LEFT);
    mt_table_column(t, "AFTER", MT_LEFT);
    for (size_t i = 0; i < d->v.n; i++) {
        safe_cell(t, &d->v.v[i].what, &b);
        safe_cell(t, &d->v.v[i].before, &b);
        safe_cell(t, &d->v.v[i].after, &b);
    }
    enum mt_status status = d->v.n ? mt_table_print(t, r, 2, err) : MT_OK;
    if (d->v.n) {
        fputc('\n', r->out);
    }
    mt_buf_release(&b);
    mt_table_free(t);
    return status;
}

static enum mt_status head(const struct mt_report *r, const struct mt_comparison *c,
                           struct mt_error *err)
{
    MT_TRY(difference_table(r, c->differences, err));
    if (!say_side(r, "before", c, c->before) || !say_side(r, "after", c, c->after)) {
        return mt_fail_nomem(err);
    }
    say_change(r, c);
    return MT_OK;
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
    segment_rows(t, r, c->before->s, d->only_before.v, d->only_before.n, "before");
    segment_rows(t, r, c->after->s, d->only_after.v, d->only_after.n, "after");
    if (!r->separator) {
        fputc('\n', r->out);
        mt_report_line(r, 2, "Segments only before: %zu of %zu; only after: %zu of %zu",
                       d->only_before.n, c->before->s->n_segments, d->only_after.n,
                       c->after->s->n_segments);
    }
    bool any = d->only_before.n || d->only_after.n || r->separator;
    enum mt_status status = any ? mt_table_print(t, r, r->separator ? 0 : 2, err) : MT_OK;
    mt_table_free(t);
    return status;
}

/* ---- the whole ---- */

static enum mt_status print_one(const struct mt_report *r, const struct mt_comparison *c,
                                struct mt_error *err)
{
    if (r->separator) {
        return c->segments ? segment_table(r, c, err) : table(r, c, err);
    }
    MT_TRY(head(r, c, err));
    if (r->stack_lines == 1 || c->options->by != MT_BY_STACK) {
        fputc('\n', r->out);
        MT_TRY(table(r, c, err));
    } else {
        MT_TRY(stacks(r, c, err));
    }
    return c->segments ? segment_table(r, c, err) : MT_OK;
}

static bool say_moment(const struct mt_report *r, const struct mt_compare_options *o)
{
    enum mt_moment_kind kind = o->at.kind;
    struct mt_buf b = {0};
    mt_buf_text(&b, kind == MT_AT_EVENT ? "Compared at event " : "Compared at ");
    mt_text_safe(&b, mt_str_from(o->at.text ? o->at.text : mt_moment_name(kind)));
    mt_buf_text(&b, mt_compare_is_of_dump(o) ? ": the blocks of each dump"
                    : kind == MT_AT_END      ? ": what is left when each trace ends"
                    : kind == MT_AT_PEAK || mt_moment_needs_trace(kind) ? ": each file at its own"
                                                                        : "");
    mt_report_line(r, 2, "%s", mt_buf_view(&b).p);
    bool ok = !b.failed;
    mt_buf_release(&b);
    return ok;
}

enum mt_status mt_report_compare(const struct mt_report *r, const struct mt_comparison *list,
                                 size_t n, struct mt_error *err)
{
    if (r->json) {
        return mt_report_compare_json(r, list, n, err);
    }
    if (!r->separator && !say_moment(r, list->options)) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        if (i) {
            fputc('\n', r->out);
        }
        MT_TRY(print_one(r, &list[i], err));
    }
    return MT_OK;
}
