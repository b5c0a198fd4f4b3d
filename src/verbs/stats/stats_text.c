/* SPDX-License-Identifier: MIT */
/*
 * The stats report for people: one page a device, most important first. Every section is a table of
 * its own; with -v the first one names PyTorch's own key beside each figure.
 */
#include <inttypes.h>

#include "heap/findings/frag.h"
#include "print/account_report.h"
#include "print/figures.h"
#include "print/labels.h"
#include "print/trust_text.h"
#include "verbs/stats/page_map.h"
#include "verbs/stats/print.h"
#include "verbs/stats/stats_sections.h"

/* ---- overview ---- */

/* What can be given back whole is a cache, not fragmentation. */
static const char *fragmentation_word(const struct mt_counters *c)
{
    static const char *const WORDS[] = {"normal (under 20 %)", "work on it (20 to 40 %)",
                                        "act on it (over 40 %)"};
    enum mt_frag_class class = mt_frag_class_of(c->reserved, c->allocated);
    bool cached = mt_counters_cut_up(c) < mt_counters_fragmentation(c) / 2;
    return !c->reserved                        ? "nothing is reserved"
           : class != MT_FRAG_NORMAL && cached ? "mostly cached, not cut up"
                                               : WORDS[class];
}

static void overview_used(struct mt_figures *f, const struct mt_counters *c)
{
    bool pending = c->active > c->allocated;
    mt_figure_size(f, "allocated", c->allocated, c->reserved, "allocated_bytes.all.current",
                   "in use, in %s block%s", mt_count_text(c->allocated_blocks).s,
                   c->allocated_blocks == 1 ? "" : "s");
    if (pending) {
        mt_figure_size(f, "pending", c->active - c->allocated, c->reserved,
                       "active_bytes - allocated_bytes",
                       "freed, but another stream may still use it");
    }
    mt_figure_size(f, "  requested", c->requested, c->reserved, "requested_bytes.all.current", "%s",
                   pending ? "what was asked for, pending included"
                           : "what was asked for; the rest is rounding");
}

static void overview_free(struct mt_figures *f, const struct mt_counters *c)
{
    mt_figure_size(f, "free", c->inactive, c->reserved, "", "cached; largest piece %s",
                   mt_report_size(f->r, c->largest_free).s);
    mt_figure_size(f, "  non-releasable", c->inactive_split, c->reserved,
                   "inactive_split_bytes.all.current", "free beside live blocks in a segment");
}

/* Segments are counted whole: what blocks a filter hides is not free. */
static bool hides_blocks(const struct mt_stats *x)
{
    const struct mt_filter *f = x->filtered->filter;
    return f && (f->size_min || f->size_max != UINT64_MAX || f->has_frame || f->has_not_frame ||
                 f->has_label);
}

static enum mt_status overview(const struct mt_report *r, const struct mt_stats *x,
                               const struct mt_device_totals *d, struct mt_error *err)
{
    const struct mt_counters *c = &d->all;
    struct mt_figures f;
    MT_TRY(mt_figures_begin(&f, r, err));
    mt_figure_size(&f, "reserved", c->reserved, 0, "reserved_bytes.all.current",
                   "taken from the driver, in %s segment%s", mt_count_text(c->segments).s,
                   c->segments == 1 ? "" : "s");
    overview_used(&f, c);
    overview_free(&f, c);
    if (!hides_blocks(x)) {
        mt_figure_text(&f, "fragmentation", mt_percent_text(mt_counters_fragmentation(c)), "",
                       "not allocated: %s", fragmentation_word(c));
    }
    return mt_figures_end(&f, err);
}

/* Of a file that tells sums alone. */
static enum mt_status told_sums(const struct mt_report *r, const struct mt_source *source,
                                const struct mt_device_totals *d, struct mt_error *err)
{
    const struct mt_counters *c = &d->all;
    struct mt_figures f;
    MT_TRY(mt_figures_begin(&f, r, err));
    bool reserved = mt_source_has_reserved(source);
    if (reserved) {
        mt_figure_size(&f, "reserved", c->reserved, 0, "reserved_bytes.all.current",
                       "taken from the driver");
    }
    mt_figure_size(&f, "allocated", c->allocated, reserved ? c->reserved : 0,
                   "allocated_bytes.all.current", "in use at the end of the file");
    return mt_figures_end(&f, err);
}

/* ---- all ---- */

static void print_left_out(const struct mt_report *r, const struct mt_totals *t)
{
    if (t->segments_left_out || t->blocks_left_out || t->events_left_out) {
        fputc('\n', r->out);
        mt_report_line(r, 2, "Left out by the filter: %s, %s, %s.",
                       mt_counted_text(t->segments_left_out, "segment").s,
                       mt_counted_text(t->blocks_left_out, "block").s,
                       mt_counted_text(t->events_left_out, "event").s);
    }
}

static enum mt_status device(const struct mt_report *r, const struct mt_stats *x,
                             const struct mt_device_totals *d, struct mt_error *err)
{
    const struct mt_snapshot *s = x->snapshot;
    fprintf(r->out, "\n%s%s%s\n", mt_color_begin(r, MT_COLOR_HEAD), mt_device_label(d->device).s,
            mt_color_end(r));
    if (!mt_source_has_pieces(&s->source)) {
        return told_sums(r, &s->source, d, err);
    }
    MT_TRY(overview(r, x, d, err));
    MT_TRY(
        mt_account_text(r, x->accounts ? mt_accounts_device(x->accounts, d->device) : NULL, err));
    if (d->all.segments) {
        MT_TRY(mt_stats_parts(r, s, d, err));
    }
    MT_TRY(mt_stats_trace(r, s, d, err));
    MT_TRY(mt_stats_sizes(r, d, err));
    MT_TRY(mt_stats_segment_sizes(r, d, err));
    return mt_stats_page_map(r, s, x->filtered, d, err);
}

enum mt_status mt_report_stats_text(const struct mt_report *r, const struct mt_stats *x,
                                    struct mt_error *err)
{
    const struct mt_totals *t = x->totals;
    fputs(mt_color_begin(r, MT_COLOR_HEAD), r->out);
    mt_text_put(r, r->file);
    fprintf(r->out, "%s\n", mt_color_end(r));
    MT_TRY(mt_report_trust(r, x->snapshot, x->trust, err));
    if (t->devices.n == 0) {
        fputs("\nNo device has memory or events here.\n", r->out);
    }
    for (size_t i = 0; i < t->devices.n; i++) {
        MT_TRY(device(r, x, &t->devices.v[i], err));
    }
    print_left_out(r, t);
    return MT_OK;
}
