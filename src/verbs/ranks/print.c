/* SPDX-License-Identifier: MIT */
/* The ranks of a job side by side: a table, then each odd rank with the reason in a sentence. */
#include "verbs/ranks/print.h"

#include <inttypes.h>

#include "heap/findings/period.h"
#include "support/checked.h"

static const char *const headings[] = {
#define X(id, name, heading) heading,
    MT_RANK_FIGURE_MAP(X)
#undef X
};

static const struct mt_rank *rank_of(const struct mt_ranks *ranks, const struct mt_rank_outlier *o)
{
    return &ranks->ranks.v[o->index];
}

/* ---- text ---- */

static void figure_cell(struct mt_table *t, const struct mt_rank *rank, int figure)
{
    if (!(rank->known >> figure & 1)) {
        mt_table_cell(t, "-");
    } else if (figure == MT_RANK_OOMS) {
        mt_table_count(t, rank->figure[figure]);
    } else {
        mt_table_size(t, rank->figure[figure]);
    }
}

static bool is_odd(const struct mt_ranks_result *x, size_t index)
{
    for (size_t i = 0; i < x->outliers.n; i++) {
        if (x->outliers.v[i].index == index) {
            return true;
        }
    }
    return false;
}

/* Columns that are only there where some rank has something in them. */
struct columns {
    bool stage, headroom;
};

static struct columns columns_of(const struct mt_ranks *ranks)
{
    struct columns x = {0};
    for (size_t i = 0; i < ranks->ranks.n; i++) {
        x.stage |= ranks->ranks.v[i].stage >= 0;
        x.headroom |= ranks->ranks.v[i].knows_headroom;
    }
    return x;
}

static void headroom_cell(struct mt_table *t, const struct mt_rank *rank)
{
    if (!rank->knows_headroom) {
        mt_table_cell(t, "-");
    } else if (rank->headroom_bytes < 0) {
        mt_table_delta(t, rank->headroom_bytes);
    } else {
        mt_table_size(t, (uint64_t)rank->headroom_bytes);
    }
}

static void rank_row(struct mt_table *t, struct columns columns, const struct mt_rank *rank,
                     bool odd)
{
    struct mt_buf file = {0};
    mt_text_safe(&file, mt_str_basename(rank->file));
    mt_table_cell(t, "%" PRId64, rank->rank);
    if (columns.stage && rank->stage >= 0) {
        mt_table_cell(t, "%" PRId64, rank->stage);
    } else if (columns.stage) {
        mt_table_cell(t, "-");
    }
    for (int k = 0; k < MT_RANK_FIGURE_COUNT; k++) {
        figure_cell(t, rank, k);
    }
    if (!rank->knows_growth) {
        mt_table_cell(t, "-");
    } else {
        mt_table_delta(t, rank->bytes_per_step);
    }
    if (columns.headroom) {
        headroom_cell(t, rank);
    }
    mt_table_cell_color(t, odd ? MT_COLOR_BAD : MT_COLOR_NONE, "%s", odd ? "odd" : "");
    mt_table_buf(t, &file);
    mt_buf_release(&file);
}

static void range_row(struct mt_table *t, const struct mt_ranks_result *x, const char *what,
                      size_t offset, struct columns columns)
{
    mt_table_cell(t, "%s", what);
    if (columns.stage) {
        mt_table_cell(t, "%s", "");
    }
    for (int k = 0; k < MT_RANK_FIGURE_COUNT; k++) {
        const struct mt_rank_range *range = &x->figure[k];
        const uint64_t values[] = {range->min, range->median, range->max};
        if (!range->n) {
            mt_table_cell(t, "-");
        } else if (k == MT_RANK_OOMS) {
            mt_table_count(t, values[offset]);
        } else {
            mt_table_size(t, values[offset]);
        }
    }
    for (int empty = columns.headroom ? 4 : 3; empty > 0; empty--) {
        mt_table_cell(t, "%s", "");
    }
}

#define FIGURE_NAMES "peak_requested_bytes,reserved_bytes,allocated_bytes,ooms,bytes_per_step,"

static struct mt_table *new_table(struct columns columns)
{
    static const char *const NAMES[2][2] = {
        {"rank," FIGURE_NAMES ",file", "rank," FIGURE_NAMES "headroom_bytes,,file"},
        {"rank,stage," FIGURE_NAMES ",file", "rank,stage," FIGURE_NAMES "headroom_bytes,,file"}};
    struct mt_table *t = mt_table_new();
    if (!t) {
        return NULL;
    }
    mt_table_column(t, "RANK", MT_RIGHT);
    if (columns.stage) {
        mt_table_column(t, "STAGE", MT_RIGHT);
    }
    for (int k = 0; k < MT_RANK_FIGURE_COUNT; k++) {
        mt_table_column(t, headings[k], MT_RIGHT);
    }
    mt_table_column(t, "GROWTH/STEP", MT_RIGHT);
    if (columns.headroom) {
        mt_table_column(t, "HEADROOM", MT_RIGHT);
    }
    mt_table_column(t, "", MT_LEFT);
    mt_table_column(t, "FILE", MT_LEFT);
    mt_table_names(t, NAMES[columns.stage][columns.headroom]);
    return t;
}

/* What "-" says in the column of growth. */
static void print_unknown_growth(const struct mt_report *r, const struct mt_ranks *ranks)
{
    size_t unknown = 0;
    for (size_t i = 0; i < ranks->ranks.n; i++) {
        unknown += !ranks->ranks.v[i].knows_growth;
    }
    if (unknown > 0 && !r->separator) {
        mt_report_line(r, 4, "  GROWTH/STEP \"-\": not known; memtool leaks says why.");
    }
}

/* With more ranks than rows, the odd ones and the first ones. */
static enum mt_status print_table(const struct mt_report *r, const struct mt_ranks *ranks,
                                  const struct mt_ranks_result *x, struct mt_error *err)
{
    struct columns columns = columns_of(ranks);
    struct mt_table *t = new_table(columns);
    if (!t) {
        return mt_fail_nomem(err);
    }
    size_t n = ranks->ranks.n, limit = r->limit && r->limit < n ? r->limit : n;
    size_t plain = limit > x->outliers.n ? limit - x->outliers.n : 0, shown = 0;
    for (size_t i = 0; i < n; i++) {
        bool odd = is_odd(x, i);
        if ((odd || plain) && shown < limit) {
            rank_row(t, columns, &ranks->ranks.v[i], odd);
            shown++;
            plain -= odd ? 0 : 1;
        }
    }
    mt_table_rule(t);
    range_row(t, x, "min", 0, columns);
    range_row(t, x, "median", 1, columns);
    range_row(t, x, "max", 2, columns);
    enum mt_status status = mt_table_print(t, r, 2, err);
    mt_table_free(t);
    if (shown < n) {
        fprintf(r->out, "  [%zu others, -n 0 shows all]\n", n - shown);
    }
    print_unknown_growth(r, ranks);
    if (!columns.headroom) {
        mt_report_line(r, 4,
                       "  Headroom: not known; --capacity or --nvidia-smi tells the memory of "
                       "the devices.");
    }
    return status;
}

static void excess_row(struct mt_table *t, const struct mt_report *r, const struct mt_ranks *ranks,
                       const struct mt_rank_excess *e, struct mt_buf *b)
{
    struct mt_sentence elsewhere = {"none", 0};
    if (e->median_count) {
        mt_sentence_add(&elsewhere, "%s in %" PRIu64, mt_report_size(r, e->median_bytes).s,
                        e->median_count);
    }
    mt_table_cell(t, "%11s", mt_report_delta(r, (int64_t)(e->bytes - e->median_bytes)).s);
    mt_buf_reset(b);
    mt_buf_printf(b, "%s in %" PRIu64 " allocation%s, elsewhere %s  ",
                  mt_report_size(r, e->bytes).s, e->count, e->count == 1 ? "" : "s",
                  elsewhere.text);
    size_t from = b->n;
    mt_rank_stack_label(b, r, ranks, e->stack);
    mt_table_stack(t, b, from, &ranks->names, e->stack);
}

/* What the rank has more of, by stacks. */
static enum mt_status print_excesses(const struct mt_report *r, const struct mt_ranks *ranks,
                                     const struct mt_rank_outlier *o, size_t n, struct mt_buf *b,
                                     struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "", MT_RIGHT);
    mt_table_column(t, "", MT_LEFT);
    mt_table_wrap(t);
    for (size_t i = 0; i < n; i++) {
        excess_row(t, r, ranks, &o->stacks.v[i], b);
    }
    enum mt_status status = mt_table_print(t, r, 4, err);
    mt_table_free(t);
    return status;
}

static enum mt_status print_outlier(const struct mt_report *r, const struct mt_ranks *ranks,
                                    const struct mt_ranks_result *x,
                                    const struct mt_rank_outlier *o, struct mt_buf *b,
                                    struct mt_error *err)
{
    enum { INDENT = 4, COLUMNS = 78 };
    int width = r->width > 0 && r->width < COLUMNS ? r->width : COLUMNS;
    const struct mt_rank *rank = rank_of(ranks, o);
    mt_buf_reset(b);
    mt_text_safe(b, mt_str_basename(rank->file));
    fprintf(r->out, "\n%sRank %" PRId64 "%s  %s\n", mt_color_begin(r, MT_COLOR_HEAD), rank->rank,
            mt_color_end(r), mt_buf_view(b).p);
    mt_rank_reason(b, r, ranks, x, o);
    fprintf(r->out, "%*s", INDENT, "");
    mt_text_print_wrapped(r->out, mt_buf_view(b).p, INDENT, INDENT, width);
    fputc('\n', r->out);
    size_t rows = o->odd & (MT_ODD_HIGH | MT_ODD_GROWS) ? o->stacks.n : 0;
    size_t limit = r->verbose || rows < 5 ? rows : 5;
    MT_TRY(print_excesses(r, ranks, o, limit, b, err));
    if (limit < rows) {
        mt_report_line(r, 6, "    [%zu other stack%s more too, -v shows %s]", rows - limit,
                       rows - limit == 1 ? " holds" : "s hold", rows - limit == 1 ? "it" : "them");
    }
    return MT_OK;
}

/* ---- is the job whole ---- */

/* Files of several jobs in one folder; the ranks are sorted. */
static void say_doubled(struct mt_buf *b, const struct mt_ranks *ranks)
{
    size_t doubled = 0;
    int64_t first = -1;
    for (size_t i = 1; i < ranks->ranks.n; i++) {
        if (ranks->ranks.v[i].rank == ranks->ranks.v[i - 1].rank) {
            first = doubled++ ? first : ranks->ranks.v[i].rank;
        }
    }
    if (doubled) {
        mt_buf_printf(b,
                      "%sSeveral files have the number of rank %" PRId64 "%s: they may be of "
                      "several jobs, and are compared all together",
                      b->n ? "\n" : "", first, doubled > 1 ? ", and of others" : "");
    }
}

static bool print_missing(const struct mt_report *r, const struct mt_ranks *ranks)
{
    struct mt_buf b = {0};
    for (size_t i = 0; i < ranks->gaps.n; i++) {
        const struct mt_rank_gap *g = &ranks->gaps.v[i];
        mt_buf_text(&b, i ? ", " : "Missing, no file: rank ");
        mt_buf_printf(&b, "%" PRId64, g->from);
        if (g->to > g->from) {
            mt_buf_printf(&b, " to %" PRId64, g->to);
        }
    }
    for (size_t i = 0; i < ranks->lost.n; i++) {
        const struct mt_rank_lost *lost = &ranks->lost.v[i];
        mt_buf_text(&b, b.n ? "\n" : "");
        mt_buf_text(&b, "Not readable: ");
        if (lost->rank >= 0) {
            mt_buf_printf(&b, "rank %" PRId64 ", ", lost->rank);
        }
        mt_text_safe(&b, lost->file);
    }
    for (size_t i = 0; i < ranks->spares.n; i++) {
        const struct mt_rank_spare *spare = &ranks->spares.v[i];
        mt_buf_text(&b, b.n ? "\n" : "");
        mt_text_safe(&b, mt_str_basename(spare->file));
        mt_buf_text(&b, " is of the same process as ");
        mt_text_safe(&b, mt_str_basename(spare->instead));
        mt_buf_text(&b, ", which stands for it");
    }
    say_doubled(&b, ranks);
    if (b.n) {
        mt_buf_char(&b, '\n');
        mt_report_lines(r, mt_buf_view(&b).p);
    }
    bool ok = !b.failed;
    mt_buf_release(&b);
    return ok;
}

static void print_first_oom(const struct mt_report *r, const struct mt_ranks *ranks)
{
    size_t next, first = mt_ranks_first_oom(ranks, &next);
    if (first == SIZE_MAX || next == SIZE_MAX) {
        return;
    }
    const struct mt_rank *a = &ranks->ranks.v[first], *b = &ranks->ranks.v[next];
    mt_report_line(r, 2, "Rank %" PRId64 " ran out of memory first, %s before rank %" PRId64 ".",
                   a->rank, mt_duration_text(mt_time_between(a->first_oom_us, b->first_oom_us)).s,
                   b->rank);
}

/* Where the ranks have little in common none stands out. */
static bool differ(const struct mt_rank_range *peak)
{
    return peak->n > 2 && peak->max / 2 > peak->median && peak->min < peak->median / 2;
}

enum mt_status mt_report_ranks_text(const struct mt_report *r, const struct mt_ranks *ranks,
                                    const struct mt_ranks_result *x, struct mt_error *err)
{
    const struct mt_rank_range *peak = &x->figure[MT_RANK_PEAK];
    struct mt_sentence head = {0};
    mt_sentence_add(&head, "%zu rank%s", ranks->ranks.n, ranks->ranks.n == 1 ? "" : "s");
    if (peak->n) {
        mt_sentence_add(&head, ", peak of requested memory %s to %s, median %s",
                        mt_report_size(r, peak->min).s, mt_report_size(r, peak->max).s,
                        mt_report_size(r, peak->median).s);
    }
    mt_report_line(r, 2, "%s", head.text);
    if (!print_missing(r, ranks)) {
        return mt_fail_nomem(err);
    }
    fputc('\n', r->out);
    MT_TRY(print_table(r, ranks, x, err));
    MT_TRY(mt_report_stages(r, x, err));
    print_first_oom(r, ranks);
    struct mt_buf b = {0};
    enum mt_status status = MT_OK;
    for (size_t i = 0; status == MT_OK && i < x->outliers.n; i++) {
        status = print_outlier(r, ranks, x, &x->outliers.v[i], &b, err);
    }
    if (!x->outliers.n) {
        fputc('\n', r->out);
        mt_report_line(r, 2, "%s",
                       ranks->ranks.n < 2
                           ? "One rank alone cannot be odd: give the files of the others."
                       : ranks->lost.n ? "No rank that can be read is odd."
                       : differ(peak) ? "No rank is odd: the peaks differ too much for a usual one."
                                      : "No rank is odd.");
    }
    status = status == MT_OK && b.failed ? mt_fail_nomem(err) : status;
    mt_buf_release(&b);
    return status;
}

enum mt_status mt_report_ranks_csv(const struct mt_report *r, const struct mt_ranks *ranks,
                                   struct mt_error *err)
{
    struct columns columns = columns_of(ranks);
    struct mt_table *t = new_table(columns);
    if (!t) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < ranks->ranks.n; i++) {
        rank_row(t, columns, &ranks->ranks.v[i], false);
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    return status;
}
