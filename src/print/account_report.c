/* SPDX-License-Identifier: MIT */
/*
 * The account of a card: a table of owners, largest first. The last row is what nothing explains,
 * and the total is what the card reports, so that a reader can add it up.
 */
#include "print/account_report.h"
#include "print/figures.h"

enum { LINE_OWNERS = 4 };

/* What the shares are of: the card, else what is in use, else what was seen. */
static uint64_t whole_of(const struct mt_account *a)
{
    return a->total_known ? a->total : a->used_known ? a->used : a->seen;
}

static const char *whole_words(const struct mt_account *a)
{
    return a->total_known ? "OF THE CARD" : a->used_known ? "OF WHAT IS IN USE" : "OF ALL SEEN";
}

static void heading(const struct mt_report *r, const struct mt_account *a)
{
    const char *head = mt_color_begin(r, MT_COLOR_HEAD), *end = mt_color_end(r);
    fputc('\n', r->out);
    if (!a->used_known) {
        mt_report_line(r, 4,
                       "  %sWho holds the card%s: %s seen; what the card reports is not known",
                       head, end, mt_report_size(r, a->seen).s);
        return;
    }
    mt_report_line(r, 4, "  %sWho holds the card%s: %s%s%s in use, says %s", head, end,
                   mt_report_size(r, a->used).s, a->total_known ? " of " : "",
                   a->total_known ? mt_report_size(r, a->total).s : "",
                   a->source ? a->source : "the card");
}

static void name_cell(struct mt_table *t, const struct mt_owner *o)
{
    struct mt_buf b = {0};
    mt_text_safe(&b, o->name);
    mt_table_buf(t, &b);
    mt_buf_release(&b);
}

static void size_cell(struct mt_table *t, const struct mt_account *a, const struct mt_owner *o)
{
    bool minus = o->kind == MT_OWNER_UNEXPLAINED && a->over;
    if (minus) {
        mt_table_delta(t, o->bytes > INT64_MAX ? INT64_MIN : -(int64_t)o->bytes);
    } else {
        mt_table_size(t, o->bytes);
    }
}

static void owner_row(struct mt_table *t, const struct mt_report *r, const struct mt_account *a,
                      const struct mt_owner *o)
{
    bool minus = o->kind == MT_OWNER_UNEXPLAINED && a->over;
    name_cell(t, o);
    mt_table_cell(t, "%s", mt_owner_words(o->kind));
    size_cell(t, a, o);
    mt_table_cell(t, "%s%s", minus ? "-" : "", mt_share_text(r, o->bytes, whole_of(a)).s);
    o->peak_known ? mt_table_size(t, o->peak) : mt_table_cell(t, "-");
    o->count ? mt_table_count(t, o->count) : mt_table_cell(t, "-");
}

static void others_row(struct mt_table *t, const struct mt_report *r, const struct mt_account *a,
                       size_t from, size_t to)
{
    uint64_t bytes = 0, n = 0;
    for (size_t i = from; i < to; i++) {
        bytes += a->rows.v[i].bytes;
        n += a->rows.v[i].count;
    }
    mt_table_cell(t, "[%zu others]", to - from);
    mt_table_cell(t, "%s", "");
    mt_table_size(t, bytes);
    mt_table_cell(t, "%s", mt_share_text(r, bytes, whole_of(a)).s);
    mt_table_cell(t, "-");
    n ? mt_table_count(t, n) : mt_table_cell(t, "-");
}

static void total_row(struct mt_table *t, const struct mt_report *r, const struct mt_account *a)
{
    uint64_t bytes = a->used_known ? a->used : a->seen;
    mt_table_rule(t);
    mt_table_cell(t, "TOTAL");
    mt_table_cell(t, "%s", a->used_known ? "in use on the card" : "seen");
    mt_table_size(t, bytes);
    mt_table_cell(t, "%s", mt_share_text(r, bytes, whole_of(a)).s);
    a->seen_peak_known && !a->used_known ? mt_table_size(t, a->seen_peak) : mt_table_cell(t, "-");
    mt_table_cell(t, "-");
}

static void rows(struct mt_table *t, const struct mt_report *r, const struct mt_account *a)
{
    bool rest = a->rows.n && a->rows.v[a->rows.n - 1].kind == MT_OWNER_UNEXPLAINED;
    size_t n = a->rows.n - rest;
    size_t shown = r->limit && n > r->limit + 1 ? r->limit : n;
    for (size_t i = 0; i < shown; i++) {
        owner_row(t, r, a, &a->rows.v[i]);
    }
    if (shown < n) {
        others_row(t, r, a, shown, n);
    }
    if (rest) {
        owner_row(t, r, a, &a->rows.v[n]);
    }
    total_row(t, r, a);
}

static void notes(const struct mt_report *r, const struct mt_account *a)
{
    if (a->over) {
        mt_report_prose(r, 2,
                        "  More is seen than the card reports: its figure is of another moment or "
                        "another card, or memory is counted that does not lie on it (managed "
                        "memory, or imported twice).");
    }
    if (a->own_is_missing) {
        mt_report_prose(
            r, 2,
            "  No process that nvidia-smi lists is large enough to be this one, which holds %s.",
            mt_report_size(r, a->process).s);
    }
    if (a->own_is_inferred) {
        mt_report_prose(r, 2,
                        "  Which of the processes this one is was told by its size: the smallest "
                        "that holds enough.");
    }
}

enum mt_status mt_account_text(const struct mt_report *r, const struct mt_account *a,
                               struct mt_error *err)
{
    static const char *const TITLES[] = {"KIND", "NOW", "", "PEAK", "ALLOCATIONS"};
    if (a && a->beyond > 0) {
        fputc('\n', r->out);
        mt_report_prose(r, 2, "  %s as in use is more than the card has (%s): it was left aside.",
                        mt_report_size(r, a->beyond).s, mt_report_size(r, a->total).s);
    }
    if (!a || !mt_account_is_whole(a)) {
        return MT_OK;
    }
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    heading(r, a);
    mt_table_column(t, "OWNER", MT_LEFT);
    for (size_t i = 0; i < MT_COUNT(TITLES); i++) {
        mt_table_column(t, TITLES[i][0] ? TITLES[i] : whole_words(a), i == 0 ? MT_LEFT : MT_RIGHT);
    }
    rows(t, r, a);
    enum mt_status status = mt_table_print(t, r, 2, err);
    mt_table_free(t);
    notes(r, a);
    return status;
}

void mt_account_line(struct mt_buf *b, const struct mt_report *r, const struct mt_account *a)
{
    size_t shown = 0;
    if (!a || !mt_account_is_whole(a)) {
        return;
    }
    mt_buf_printf(b, "%s", mt_report_size(r, a->used_known ? a->used : a->seen).s);
    if (a->total_known) {
        mt_buf_printf(b, " of %s", mt_report_size(r, a->total).s);
    }
    mt_buf_text(b, a->used_known ? " in use" : " seen");
    for (size_t i = 0; i < a->rows.n && shown < LINE_OWNERS; i++) {
        const struct mt_owner *o = &a->rows.v[i];
        if (o->bytes > 0 && !(o->kind == MT_OWNER_UNEXPLAINED && a->over)) {
            mt_buf_text(b, shown++ ? ", " : ": ");
            bool rest = o->kind == MT_OWNER_UNEXPLAINED;
            mt_text_safe(b, rest ? mt_str_from(mt_owner_words(o->kind)) : o->name);
            mt_buf_printf(b, " %s", mt_report_size(r, o->bytes).s);
        }
    }
}

/* ---- JSON ---- */

static void put_owner(struct mt_out list, const struct mt_owner *o)
{
    struct mt_out one = mt_out_object(list, NULL);
    mt_out_text(one, "kind", mt_owner_id(o->kind));
    mt_out_str(one, "name", o->name);
    mt_out_u64(one, "bytes", o->bytes);
    mt_out_known(one, "peak_bytes", o->peak_known, o->peak);
    mt_out_known(one, "allocations", o->count > 0, o->count);
}

static void put_unexplained(struct mt_out o, const struct mt_account *a)
{
    uint64_t bytes = a->over ? a->seen - a->used : a->used - a->seen;
    if (!a->used_known) {
        mt_out_null(o, "unexplained_bytes");
    } else if (bytes > INT64_MAX) {
        mt_out_i64(o, "unexplained_bytes", a->over ? INT64_MIN : INT64_MAX);
    } else {
        mt_out_i64(o, "unexplained_bytes", a->over ? -(int64_t)bytes : (int64_t)bytes);
    }
}

void mt_out_account(struct mt_out o, const struct mt_account *a)
{
    if (!a) {
        mt_out_null(o, "account");
        return;
    }
    struct mt_out account = mt_out_object(o, "account");
    mt_out_bool(account, "every_library", a->recorded.watched);
    mt_out_text(account, "source", a->used_known ? a->source : NULL);
    mt_out_known(account, "total_bytes", a->total_known, a->total);
    mt_out_known(account, "used_bytes", a->used_known, a->used);
    mt_out_u64(account, "seen_bytes", a->seen);
    mt_out_known(account, "seen_peak_bytes", a->seen_peak_known, a->seen_peak);
    put_unexplained(account, a);
    struct mt_out owners = mt_out_array(account, "owners");
    for (size_t i = 0; i < a->rows.n; i++) {
        if (a->rows.v[i].kind != MT_OWNER_UNEXPLAINED) {
            put_owner(owners, &a->rows.v[i]);
        }
    }
}
