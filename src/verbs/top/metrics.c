/* SPDX-License-Identifier: MIT */
/* The same for programs: top/1, and the text format of Prometheus. */
#include <inttypes.h>
#include <math.h>

#include "print/report_json.h"
#include "verbs/top/top.h"

/* ---- JSON ---- */

static void put_card(struct mt_out cards, const struct mt_top_card *c)
{
    struct mt_out o = mt_out_object(cards, NULL);
    mt_out_u64(o, "card", c->index);
    mt_out_text(o, "name", c->name);
    mt_out_text(o, "uuid", c->uuid);
    mt_out_known(o, "total_bytes", c->total > 0, c->total);
    mt_out_known(o, "used_bytes", c->total > 0, c->used);
    mt_out_known(o, "free_bytes", c->total > 0, c->free);
}

static void put_user(struct mt_out users, const struct mt_top_user *u)
{
    char name[64];
    struct mt_out o = mt_out_object(users, NULL);
    mt_top_name(u->pid, name, sizeof name);
    mt_out_i64(o, "pid", u->pid);
    mt_out_text(o, "name", name);
    mt_out_u64(o, "card", u->card);
    mt_out_known(o, "used_bytes", u->known, u->used);
}

static void put_ratio(struct mt_out o, const char *key, bool known, double x)
{
    mt_out_f64(o, key, known ? x : (double)NAN);
}

static void put_row(struct mt_out rows, const struct mt_top *top, const struct mt_top_row *row)
{
    struct mt_top_figures f;
    const struct mt_top_card *card = mt_top_card_of(top, row);
    const struct mt_top_watched *w = mt_top_watched_of(top, row->pid);
    struct mt_out o = mt_out_object(rows, NULL);
    mt_top_figures(row, &f);
    mt_out_i64(o, "pid", row->pid);
    mt_out_text(o, "name", w ? w->name : NULL);
    mt_out_i64(o, "device", row->last.device);
    mt_out_known(o, "card", card != NULL, card ? card->index : 0);
    mt_out_text(o, "card_name", row->last.name);
    mt_out_i64(o, "time_us", row->last.time_us);
    mt_out_u64(o, "reserved_bytes", row->last.reserved);
    mt_out_u64(o, "live_bytes", row->last.live);
    mt_out_u64(o, "largest_hole_bytes", row->last.hole);
    mt_out_u64(o, "card_free_bytes", row->last.free);
    mt_out_u64(o, "card_total_bytes", row->last.total);
    put_ratio(o, "hits_share", f.has_hits, f.hits);
    put_ratio(o, "driver_calls_per_s", f.has_rates, f.calls_per_s);
    put_ratio(o, "growth_bytes_per_s", f.has_growth, f.growth);
    put_ratio(o, "full_in_s", f.has_full, f.full_in);
    mt_out_u64(o, "retries", row->last.retries);
    mt_out_u64(o, "ooms", row->last.ooms);
    mt_out_u64(o, "samples", row->n_kept);
}

enum mt_status mt_top_json(const struct mt_top *top, const struct mt_report *r, bool one_line,
                           struct mt_error *err)
{
    struct mt_json_out json;
    struct mt_out o = mt_report_json(&json, r, "top/1", one_line);
    mt_out_text(o, "cards_unknown_because", top->cards.why[0] ? top->cards.why : NULL);
    struct mt_out cards = mt_out_array(o, "cards");
    for (size_t i = 0; i < top->cards.list.n; i++) {
        put_card(cards, &top->cards.list.v[i]);
    }
    struct mt_out users = mt_out_array(o, "on_cards");
    for (size_t i = 0; i < top->cards.users.n; i++) {
        put_user(users, &top->cards.users.v[i]);
    }
    struct mt_out rows = mt_out_array(o, "processes");
    for (size_t i = 0; i < top->rows.n; i++) {
        put_row(rows, top, &top->rows.v[i]);
    }
    struct mt_out hindered = mt_out_array(o, "not_watched");
    for (size_t i = 0; i < top->watched.n; i++) {
        const struct mt_top_watched *w = &top->watched.v[i];
        if (w->why[0]) {
            struct mt_out one = mt_out_object(hindered, NULL);
            mt_out_i64(one, "pid", w->pid);
            mt_out_text(one, "because", w->why);
        }
    }
    return mt_report_json_end(o, err);
}

/* ---- Prometheus ---- */

/* A label's value: quotes, backslashes and line ends are escaped. */
static void put_label(FILE *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\') {
            fputc('\\', out);
        }
        if (*p == '\n') {
            fputs("\\n", out);
        } else {
            fputc((unsigned char)*p < ' ' ? '?' : *p, out);
        }
    }
}

static void head(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* `at`: where the figure stands in a card. */
static void put_cards(const struct mt_top *top, FILE *out, const char *name, const char *help,
                      size_t at)
{
    head(out, name, "gauge", help);
    for (size_t i = 0; i < top->cards.list.n; i++) {
        const struct mt_top_card *c = &top->cards.list.v[i];
        if (c->total == 0) {
            continue;
        }
        fprintf(out, "%s{card=\"%u\",uuid=\"", name, c->index);
        put_label(out, c->uuid);
        fprintf(out, "\"} %" PRIu64 "\n", *(const uint64_t *)((const char *)c + at));
    }
}

/* What a metric of a process is; false: not known, and then it has no line. */
static bool value_of(int which, const struct mt_top_row *row, double *out)
{
    struct mt_top_figures f;
    const struct mt_top_sample *s = &row->last;
    mt_top_figures(row, &f);
    const double values[] = {
        (double)s->reserved, (double)s->live, (double)s->hole, f.hits,
        (double)s->calls,    f.growth,        f.full_in,       (double)s->retries,
        (double)s->ooms};
    const bool known[] = {true, true, true, f.has_hits, true, f.has_growth, f.has_full, true, true};
    *out = values[which];
    return known[which];
}

void mt_top_prometheus(const struct mt_top *top, FILE *out)
{
    static const struct {
        const char *name, *type, *help;
    } METRICS[] = {
        {"memtool_reserved_bytes", "gauge", "Reserved from the driver by PyTorch's allocator."},
        {"memtool_live_bytes", "gauge", "Allocated to tensors."},
        {"memtool_largest_hole_bytes", "gauge", "The largest free block in the reserved memory."},
        {"memtool_hits_ratio", "gauge", "Share of the watched requests served without the driver."},
        {"memtool_driver_calls_total", "counter", "Calls of the driver for memory."},
        {"memtool_growth_bytes_per_second", "gauge", "By which live memory clearly grows."},
        {"memtool_full_in_seconds", "gauge", "Until the card is full, if it grows on."},
        {"memtool_retries_total", "counter", "Requests that had to empty the cache."},
        {"memtool_ooms_total", "counter", "Requests that failed."},
    };
    put_cards(top, out, "memtool_card_total_bytes", "Memory of the card.",
              offsetof(struct mt_top_card, total));
    put_cards(top, out, "memtool_card_used_bytes", "Memory of the card in use.",
              offsetof(struct mt_top_card, used));
    for (size_t m = 0; m < MT_COUNT(METRICS); m++) {
        head(out, METRICS[m].name, METRICS[m].type, METRICS[m].help);
        for (size_t i = 0; i < top->rows.n; i++) {
            const struct mt_top_row *row = &top->rows.v[i];
            const struct mt_top_watched *w = mt_top_watched_of(top, row->pid);
            double value;
            if ((w && w->ended) || !value_of((int)m, row, &value)) {
                continue;
            }
            fprintf(out, "%s{pid=\"%ld\",device=\"%d\",process=\"", METRICS[m].name, (long)row->pid,
                    row->last.device);
            put_label(out, w ? w->name : "");
            fprintf(out, "\"} %.17g\n", value);
        }
    }
}
