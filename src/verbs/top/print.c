/* SPDX-License-Identifier: MIT */
/* One screen: what stands out, the cards, the processes that are watched, the others. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "print/report.h"
#include "verbs/top/top.h"

static struct mt_size_text duration(double seconds)
{
    return mt_duration_text((int64_t)(seconds * 1e6));
}

/* ---- what stands out ---- */

static const double FEW_HITS = 0.9, MANY_CALLS = 1, SOON = 24 * 3600.0, FULL = 0.02;

static void tell(const struct mt_report *r, int *n, const struct mt_buf *b)
{
    fputs(mt_color_begin(r, MT_COLOR_BAD), r->out);
    mt_report_prose(r, 2, "! %s", b->failed ? "out of memory" : b->p);
    fputs(mt_color_end(r), r->out);
    ++*n;
}

static void judge_growth(const struct mt_report *r, int *n, const struct mt_top_row *row,
                         const char *who, const struct mt_top_figures *f)
{
    struct mt_buf b = {0};
    if (!f->has_growth || !f->has_full || f->full_in > SOON) {
        return;
    }
    mt_buf_printf(&b,
                  "%s grows by %s per second: the card will be full in %s. What is kept: memtool "
                  "capture --pid %ld --for 60s --tensors",
                  who, mt_report_size(r, (uint64_t)f->growth).s, duration(f->full_in).s,
                  (long)row->pid);
    tell(r, n, &b);
    mt_buf_release(&b);
}

static void judge_calls(const struct mt_report *r, int *n, const struct mt_top_row *row,
                        const char *who, const struct mt_top_figures *f)
{
    struct mt_buf b = {0};
    uint64_t ooms = row->last.ooms - row->first.ooms;
    uint64_t retries = row->last.retries - row->first.retries;
    if (ooms || retries) {
        mt_buf_printf(
            &b,
            "%s ran short of memory while it was watched: %s emptied the cache first, and "
            "%s failed",
            who, mt_counted_text(retries > ooms ? retries : ooms, "request").s,
            mt_counted_text(ooms, "request").s);
        tell(r, n, &b);
    }
    mt_buf_reset(&b);
    if (f->has_rates && f->calls_per_s >= MANY_CALLS && f->has_hits && f->hits < FEW_HITS) {
        mt_buf_printf(
            &b,
            "%s asks the driver for memory %.0f times per second: its cache serves only "
            "%.0f %% of the requests. Why: memtool capture --pid %ld --for 10s, then memtool frag",
            who, f->calls_per_s, 100 * f->hits, (long)row->pid);
        tell(r, n, &b);
    }
    mt_buf_release(&b);
}

static void judge_cards(const struct mt_top *top, const struct mt_report *r, int *n)
{
    for (size_t i = 0; i < top->cards.list.n; i++) {
        const struct mt_top_card *c = &top->cards.list.v[i];
        struct mt_buf b = {0};
        if (c->total > 0 && (double)c->free < FULL * (double)c->total) {
            mt_buf_printf(&b, "card %u has %s left of %s", c->index, mt_report_size(r, c->free).s,
                          mt_report_size(r, c->total).s);
            tell(r, n, &b);
        }
        mt_buf_release(&b);
    }
}

static void judge(const struct mt_top *top, const struct mt_report *r)
{
    int n = 0;
    bool early = false;
    judge_cards(top, r, &n);
    for (size_t i = 0; i < top->rows.n; i++) {
        const struct mt_top_row *row = &top->rows.v[i];
        const struct mt_top_watched *w = mt_top_watched_of(top, row->pid);
        struct mt_top_figures f;
        struct mt_buf who = {0};
        mt_top_figures(row, &f);
        early |= row->n_kept < MT_TOP_LEAST;
        mt_buf_printf(&who, "process %ld (", (long)row->pid);
        mt_text_safe(&who, mt_str_from(w ? w->name : "?"));
        mt_buf_char(&who, ')');
        if (!who.failed && !(w && w->ended)) {
            judge_growth(r, &n, row, who.p, &f);
            judge_calls(r, &n, row, who.p, &f);
        }
        mt_buf_release(&who);
    }
    if (n == 0) {
        mt_report_prose(
            r, 2, "%s",
            top->rows.n == 0
                ? "no process is watched: --pid PID watches one, --all those on the cards"
            : early ? "nothing stands out yet; growth is not known before 8 looks"
                    : "nothing stands out");
    }
}

/* ---- tables ---- */

static enum mt_status print_cards(const struct mt_top *top, const struct mt_report *r,
                                  struct mt_error *err)
{
    if (top->cards.why[0]) {
        mt_report_prose(r, 0, "cards: not known: %s", top->cards.why);
        return MT_OK;
    }
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "CARD", MT_RIGHT);
    mt_table_column(t, "TOTAL", MT_RIGHT);
    mt_table_column(t, "IN USE", MT_RIGHT);
    mt_table_column(t, "FREE", MT_RIGHT);
    mt_table_column(t, "NAME", MT_LEFT);
    for (size_t i = 0; i < top->cards.list.n; i++) {
        const struct mt_top_card *c = &top->cards.list.v[i];
        struct mt_buf name = {0};
        mt_table_cell(t, "%u", c->index);
        const uint64_t sizes[] = {c->total, c->used, c->free};
        for (size_t k = 0; k < MT_COUNT(sizes); k++) {
            mt_table_cell(t, "%s", c->total ? mt_report_size(r, sizes[k]).s : "?");
        }
        mt_text_safe(&name, mt_str_from(c->name));
        mt_table_buf(t, &name);
        mt_buf_release(&name);
    }
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    return status;
}

static void cell_known(struct mt_table *t, bool known, double value, const char *unit)
{
    if (known) {
        mt_table_cell(t, "%.1f%s", value, unit);
    } else {
        mt_table_cell(t, "-");
    }
}

static void put_name(struct mt_table *t, const char *name)
{
    struct mt_buf b = {0};
    mt_text_safe(&b, mt_str_from(name));
    mt_table_buf(t, &b);
    mt_buf_release(&b);
}

static void put_row(struct mt_table *t, const struct mt_top *top, const struct mt_report *r,
                    const struct mt_top_row *row)
{
    const struct mt_top_card *card = mt_top_card_of(top, row);
    const struct mt_top_watched *w = mt_top_watched_of(top, row->pid);
    struct mt_top_figures f;
    mt_top_figures(row, &f);
    mt_table_cell(t, "%ld", (long)row->pid);
    /* without a number of the driver's, as PyTorch in that process calls it */
    mt_table_cell(t, "%s%d", card ? "" : "cuda:", card ? (int)card->index : row->last.device);
    mt_table_size(t, row->last.reserved);
    mt_table_size(t, row->last.live);
    mt_table_size(t, row->last.hole);
    cell_known(t, f.has_hits, 100 * f.hits, " %");
    cell_known(t, f.has_rates, f.calls_per_s, "");
    if (f.has_growth) {
        mt_table_cell_color(t, MT_COLOR_BAD, "+%s/s", mt_report_size(r, (uint64_t)f.growth).s);
    } else {
        mt_table_cell(t, "%s", row->n_kept < MT_TOP_LEAST ? "?" : "none");
    }
    mt_table_cell(t, "%s", f.has_full ? duration(f.full_in).s : "-");
    put_name(t, w ? w->name : "?");
}

static enum mt_status print_rows(const struct mt_top *top, const struct mt_report *r,
                                 struct mt_error *err)
{
    static const char *const TITLES[] = {"PID",          "CARD", "RESERVED",       "LIVE",
                                         "LARGEST HOLE", "HITS", "DRIVER CALLS/S", "GROWTH",
                                         "FULL IN"};
    if (top->rows.n == 0) {
        return MT_OK;
    }
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < MT_COUNT(TITLES); i++) {
        mt_table_column(t, TITLES[i], MT_RIGHT);
    }
    mt_table_column(t, "PROCESS", MT_LEFT);
    for (size_t i = 0; i < top->rows.n; i++) {
        put_row(t, top, r, &top->rows.v[i]);
    }
    fputc('\n', r->out);
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    return status;
}

/* Those on the cards that are not watched. */
static enum mt_status print_others(const struct mt_top *top, const struct mt_report *r,
                                   struct mt_error *err)
{
    struct mt_table *t = NULL;
    for (size_t i = 0; i < top->cards.users.n; i++) {
        const struct mt_top_user *u = &top->cards.users.v[i];
        char name[64];
        if (mt_top_watched_of(top, u->pid)) {
            continue;
        }
        if (!t) {
            t = mt_table_new();
            if (!t) {
                return mt_fail_nomem(err);
            }
            mt_table_column(t, "PID", MT_RIGHT);
            mt_table_column(t, "CARD", MT_RIGHT);
            mt_table_column(t, "ON CARD", MT_RIGHT);
            mt_table_column(t, "NOT WATCHED", MT_LEFT);
        }
        mt_top_name(u->pid, name, sizeof name);
        mt_table_cell(t, "%ld", (long)u->pid);
        mt_table_cell(t, "%u", u->card);
        mt_table_cell(t, "%s", u->known ? mt_report_size(r, u->used).s : "?");
        put_name(t, name);
    }
    if (!t) {
        return MT_OK;
    }
    fputc('\n', r->out);
    enum mt_status status = mt_table_print(t, r, 0, err);
    mt_table_free(t);
    return status;
}

static void print_hindered(const struct mt_top *top, const struct mt_report *r)
{
    for (size_t i = 0; i < top->watched.n; i++) {
        const struct mt_top_watched *w = &top->watched.v[i];
        struct mt_buf b = {0};
        if (w->why[0]) {
            mt_text_safe(&b, mt_str_from(w->why));
            mt_report_prose(r, 2, "process %ld: %s", (long)w->pid, b.failed ? "?" : b.p);
        }
        mt_buf_release(&b);
    }
}

enum mt_status mt_top_print(const struct mt_top *top, const struct mt_report *r,
                            struct mt_error *err)
{
    char when[16];
    struct tm tm;
    time_t now = time(NULL);
    strftime(when, sizeof when, "%H:%M:%S", localtime_r(&now, &tm));
    fprintf(r->out, "memtool top, %s\n", when);
    judge(top, r);
    print_hindered(top, r);
    fputc('\n', r->out);
    MT_TRY(print_cards(top, r, err));
    MT_TRY(print_rows(top, r, err));
    return print_others(top, r, err);
}
