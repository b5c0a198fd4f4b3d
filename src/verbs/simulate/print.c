/* SPDX-License-Identifier: MIT */
/* simulate as text and CSV: what the runs rest on, one row a run, and what it comes to. */
#include <string.h>

#include "verbs/simulate/cures_json.h"
#include "verbs/simulate/print_text.h"
#include "print/figures.h"
#include "print/labels.h"
#include "support/safe_char.h"

const char *mt_sim_verdict_word(enum mt_sim_verdict v)
{
    static const char *const words[] = {"fits", "out_of_memory", "unknown"};
    return words[v];
}

const char *mt_sim_edit_word(enum mt_sim_edit_kind kind)
{
    static const char *const words[] = {"recompute", "offload", "free-early", "scale", "drop"};
    return words[kind];
}

void mt_sim_verdict_cell(struct mt_table *t, const struct mt_report *r, enum mt_sim_verdict v)
{
    static const enum mt_color colors[] = {MT_COLOR_GOOD, MT_COLOR_BAD, MT_COLOR_WARN};
    bool spaced = v == MT_SIM_OUT_OF_MEMORY && !r->separator;
    mt_table_cell_color(t, colors[v], "%s", spaced ? "out of memory" : mt_sim_verdict_word(v));
}

/* ---- what the runs rest on ---- */

static void print_bound(const struct mt_report *r, const char *name, const struct mt_sim_bound *b,
                        const struct mt_sim_bound *recorded)
{
    if (!b->known) {
        return;
    }
    struct mt_sentence line = {0};
    mt_sentence_add(&line, "  %s: %s%s", name, mt_report_size(r, b->bytes).s,
                    b->given ? ", as given" : ", inferred");
    if (b->given && !recorded->given) {
        mt_sentence_add(&line, " (the recording itself had another:");
    } else if (!b->given) {
        mt_sentence_add(&line, " (");
    }
    if (!recorded->given) {
        mt_sentence_add(&line, "%s", b->given ? " " : "");
        if (recorded->has_below) {
            mt_sentence_add(&line, "%s)",
                            mt_size_range_text(recorded->least, recorded->below, r->size).s);
        } else {
            mt_sentence_add(&line, "at least %s)", mt_report_size(r, recorded->least).s);
        }
    }
    mt_report_line(r, 4, "%s", line.text);
}

static void print_start(const struct mt_report *r, const struct mt_sim_result *v)
{
    size_t unsure, n = mt_sim_ghosts(v->sim, &unsure);
    if (mt_sim_is_complete(v->sim)) {
        return;
    }
    struct mt_report lines = in_lines(r);
    mt_report_line(
        &lines, 4,
        "  the recording begins in the middle: what was there before (%s block%s in use) "
        "was rebuilt from the final segments; the size of %s%s certain",
        mt_count_text(n).s, plural(n), unsure ? mt_count_text(unsure).s : "every one",
        unsure ? " of them is not" : " is");
    mt_report_line(r, 4, "  peaks and sums count from the first event");
}

/* Why a replay may differ, as far as the file tells. */
static void print_doubt(const struct mt_report *r, const struct mt_sim_result *v)
{
    const struct mt_sim_run *run = &v->runs[0];
    struct mt_report lines = in_lines(r);
    struct mt_sentence b = {0};
    size_t unsure;
    mt_sim_ghosts(v->sim, &unsure);
    if (run->leaves) {
        mt_sentence_add(&b, "    the first request that differs is event %s",
                        mt_count_text(run->leaves_event).s);
    } else {
        mt_sentence_add(&b, "    every request is answered as recorded");
    }
    if (unsure) {
        mt_sentence_add(&b, "; a large block from before the recording may be larger than assumed");
    }
    if (mt_sim_guesses_pools(v->sim)) {
        mt_sentence_add(&b, "; the program used private pools (CUDA graphs, MemPools), and the "
                            "events do not name the pool of segments that were given back");
    }
    mt_report_line(&lines, 4, "%s", b.text);
    mt_report_line(&lines, 4,
                   "    the row \"as recorded\" therefore shows what the events prove; the other "
                   "rows are estimates");
}

static void print_fidelity(const struct mt_report *r, const struct mt_sim_result *v)
{
    const struct mt_sim_fidelity *f = &v->runs[0].fidelity;
    bool exact = v->runs[0].exact;
    mt_report_line(r, 4, "  replay of the recording: %s%s%s",
                   mt_color_begin(r, exact ? MT_COLOR_GOOD : MT_COLOR_WARN),
                   exact        ? "exact"
                   : v->watched ? "not exact: take the figures below as estimates"
                                : "not exact",
                   mt_color_end(r));
    mt_report_line(r, 6, "    %s of %s calls to the driver, %s of %s addresses, final blocks %s",
                   mt_count_text(f->device_events_matched).s,
                   mt_count_text(f->device_events_recorded).s,
                   mt_count_text(f->placements_matched).s, mt_count_text(f->placements_recorded).s,
                   f->final_layout_match ? "equal" : "differ");
    if (v->runs[0].of_trace) {
        print_doubt(r, v);
    }
}

static void print_head(const struct mt_report *r, const struct mt_sim_result *v, struct mt_buf *b)
{
    size_t n = mt_sim_events(v->sim);
    struct mt_str conf = mt_sim_conf(v->sim);
    if (b->failed) {
        return; /* told at the end */
    }
    mt_buf_reset(b);
    mt_text_safe(b, conf);
    mt_report_line(r, 2, "%sDevice %d%s: %s event%s, recorded with %s",
                   mt_color_begin(r, MT_COLOR_HEAD), (int)v->device, mt_color_end(r),
                   mt_count_text(n).s, plural(n),
                   v->watched      ? "no allocator between"
                   : conf.n        ? mt_buf_view(b).p
                   : is_pytorch(v) ? "PyTorch's default settings"
                                   : "the default settings");
    if (v->watched) {
        struct mt_report lines = in_lines(r);
        mt_report_line(&lines, 4,
                       "  each event is an allocation of the driver's; below is what a caching "
                       "allocator under PyTorch's rules would make of the same requests");
    }
    print_bound(r, "limit of the process", mt_sim_limit(v->sim), &v->runs[0].limit);
    print_bound(r, "what the driver can give", mt_sim_capacity(v->sim), &v->runs[0].capacity);
    print_start(r, v);
    print_fidelity(r, v);
}

/* ---- one row a run ---- */

/* The least of the figures; without it, all but the settings fit 80 columns. */
static bool has_hits(const struct mt_report *r)
{
    enum { ROOMY = 100 };
    return r->width == 0 || r->separator || r->width >= ROOMY;
}

static void add_columns(struct mt_table *t, const struct mt_report *r)
{
    mt_table_column(t, "VERDICT", MT_LEFT);
    mt_table_column(t, "RESERVED", MT_RIGHT);
    mt_table_column(t, "CHANGE", MT_RIGHT);
    mt_table_column(t, "UNUSED", MT_RIGHT);
    mt_table_column(t, "ALLOCATED", MT_RIGHT);
    if (has_hits(r)) {
        mt_table_column(t, "OVER", MT_RIGHT);
    }
    if (has_hits(r)) {
        mt_table_column(t, "HITS", MT_RIGHT);
    }
    mt_table_column(t, "CALLS", MT_RIGHT);
    mt_table_column(t, "RETRIES", MT_RIGHT);
    mt_table_column(t, "OOMS", MT_RIGHT);
    if (r->verbose) {
        mt_table_column(t, "RELEASES", MT_RIGHT);
        mt_table_column(t, "COLLECTIONS", MT_RIGHT);
        mt_table_column(t, "SYNCS", MT_RIGHT);
    }
    mt_table_column(t, "SETTINGS", MT_LEFT);
}

static void add_settings(struct mt_table *t, const struct mt_sim_run *run,
                         const struct mt_sim_result *v, struct mt_buf *b)
{
    if (b->failed) {
        return; /* told at the end */
    }
    mt_buf_reset(b);
    mt_text_safe(b, mt_str_from(run->conf));
    const char *conf = run->conf[0] ? mt_buf_view(b).p : "defaults";
    bool recorded = run->recorded && !v->watched; /* nobody recorded what was simulated */
    mt_table_cell(t, "%s%s%s",
                  recorded                       ? "as recorded ("
                  : v->n_edits && !run->recorded ? "edited, "
                                                 : "",
                  conf, recorded ? ")" : "");
}

static void add_unknown(struct mt_table *t, const struct mt_report *r, size_t cells)
{
    for (size_t i = 0; i < cells; i++) {
        mt_table_cell(t, "%s", r->separator ? "" : "-");
    }
}

/* What is reserved beyond what is alive at once. A run that refused something does without it. */
static void add_over(struct mt_table *t, const struct mt_report *r, const struct mt_sim_run *run,
                     const struct mt_packing *ideal)
{
    uint64_t reserved = run->peak.reserved;
    if (reserved < ideal->alive || !ideal->alive) {
        add_unknown(t, r, 1);
    } else {
        mt_table_cell(t, "%s", mt_share_text(r, reserved - ideal->alive, ideal->alive).s);
    }
}

/* What a run costs, as far as a replay tells. */
static void add_price(struct mt_table *t, const struct mt_report *r, const struct mt_sim_run *run)
{
    const struct mt_alloc_stats *s = &run->stats;
    bool replayed = !run->of_trace;
    if (replayed && has_hits(r)) {
        mt_table_cell(t, "%s", mt_share_text(r, s->hits, s->searches).s);
    } else {
        add_unknown(t, r, has_hits(r));
    }
    mt_table_count(t, s->num_device_alloc + s->num_device_free);
    if (replayed) {
        mt_table_count(t, s->num_alloc_retries);
    } else {
        add_unknown(t, r, 1);
    }
    mt_table_count(t, run->n_ooms);
    if (r->verbose && replayed) {
        mt_table_count(t, s->releases);
        mt_table_count(t, s->garbage_collections);
        mt_table_count(t, s->num_sync_all_streams);
    } else if (r->verbose) {
        add_unknown(t, r, 3);
    }
}

static void add_run(struct mt_table *t, const struct mt_report *r, const struct mt_sim_result *v,
                    size_t i, struct mt_buf *b)
{
    const struct mt_sim_run *run = &v->runs[i], *recorded = &v->runs[0];
    const struct mt_alloc_stats *s = &run->stats;
    int64_t allocated = s->stat[MT_STAT_ALLOCATED_BYTES][MT_SLOT_ALL].peak;
    mt_sim_verdict_cell(t, r, run->verdict);
    mt_table_size(t, run->peak.reserved);
    if (run->recorded) {
        mt_table_cell(t, "%s", "");
    } else {
        mt_table_delta(t, (int64_t)(run->peak.reserved - recorded->peak.reserved));
    }
    bool replayed = !run->of_trace; /* else only what the events prove is known */
    uint64_t unused = run->peak.reserved - run->peak.allocated;
    if (replayed) {
        mt_table_cell(t, "%s", mt_share_text(r, unused, run->peak.reserved).s);
        mt_table_size(t, (uint64_t)allocated);
    } else {
        add_unknown(t, r, 2);
    }
    if (has_hits(r)) {
        add_over(t, r, run, mt_sim_ideal_of(v, run));
    }
    add_price(t, r, run);
    add_settings(t, run, v, b);
}

static enum mt_status print_runs(const struct mt_report *r, const struct mt_sim_result *v,
                                 struct mt_buf *b, struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    if (!t) {
        return mt_fail_nomem(err);
    }
    add_columns(t, r);
    for (size_t i = 0; i < v->n_runs; i++) {
        add_run(t, r, v, i, b);
    }
    enum mt_status status = mt_table_print(t, r, 2, err);
    mt_table_free(t);
    return status;
}

static enum mt_status print_result(const struct mt_report *r, const struct mt_sim_result *v,
                                   struct mt_buf *b, struct mt_error *err)
{
    print_head(r, v, b);
    fputs("\n  peaks of memory, and what they cost:\n", r->out);
    MT_TRY(print_runs(r, v, b, err));
    mt_sim_print_outcome(r, v);
    return b->failed ? mt_fail_nomem(err) : MT_OK;
}

void mt_report_simulate_nothing(const struct mt_report *r, const struct mt_snapshot *s)
{
    mt_report_prose(r, 2,
                    "%sUnknown%s: there are no events to replay, the history was not recorded (%s "
                    "switches it on)",
                    mt_color_begin(r, MT_COLOR_WARN), mt_color_end(r), mt_history_switch(s));
    mt_report_prose(r, 0, "Next: memtool memory and memtool frag, which need no history");
}

enum mt_status mt_report_simulate_text(const struct mt_report *r, const struct mt_sim_result *v,
                                       size_t n, struct mt_error *err)
{
    struct mt_buf b = {0};
    enum mt_status status = MT_OK;
    for (size_t i = 0; status == MT_OK && i < n; i++) {
        if (i > 0) {
            fputc('\n', r->out);
        }
        status = print_result(r, &v[i], &b, err);
    }
    mt_buf_release(&b);
    return status;
}

#define CSV_FIGURES                                                                                \
    "device,verdict,reserved_bytes,change_bytes,unused_share,allocated_bytes,over_share,hit_"      \
    "share,"                                                                                       \
    "calls,retries,ooms"

enum mt_status mt_report_simulate_csv(const struct mt_report *r, const struct mt_sim_result *v,
                                      size_t n, struct mt_error *err)
{
    struct mt_table *t = mt_table_new();
    struct mt_buf b = {0};
    if (!t) {
        return mt_fail_nomem(err);
    }
    mt_table_column(t, "DEVICE", MT_RIGHT);
    add_columns(t, r);
    mt_table_names(t, r->verbose ? CSV_FIGURES ",releases,collections,syncs,settings"
                                 : CSV_FIGURES ",settings");
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < v[i].n_runs; k++) {
            mt_table_cell(t, "%d", (int)v[i].device);
            add_run(t, r, &v[i], k, &b);
        }
    }
    enum mt_status status = b.failed ? mt_fail_nomem(err) : mt_table_print(t, r, 0, err);
    mt_buf_release(&b);
    mt_table_free(t);
    return status;
}
