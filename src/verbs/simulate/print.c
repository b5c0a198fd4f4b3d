/* SPDX-License-Identifier: MIT */
/* simulate as text and CSV: what the runs rest on, one row a run, and what it comes to. */
#include <string.h>

#include "verbs/simulate/print.h"
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

static const char *verdict_text(enum mt_sim_verdict v)
{
    static const char *const words[] = {"fits", "out of memory", "unknown"};
    return words[v];
}

static enum mt_color verdict_color(enum mt_sim_verdict v)
{
    static const enum mt_color colors[] = {MT_COLOR_GOOD, MT_COLOR_BAD, MT_COLOR_WARN};
    return colors[v];
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
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

/* For sentences: in lines also where there is no terminal. */
static struct mt_report in_lines(const struct mt_report *r)
{
    struct mt_report lines = *r;
    lines.width = r->width ? r->width : 100;
    return lines;
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

static bool is_pytorch(const struct mt_sim_result *v)
{
    return mt_str_starts(mt_str_from(v->variable), MT_STR("PYTORCH"));
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

static void add_run(struct mt_table *t, const struct mt_report *r, const struct mt_sim_result *v,
                    size_t i, struct mt_buf *b)
{
    const struct mt_sim_run *run = &v->runs[i], *recorded = &v->runs[0];
    const struct mt_alloc_stats *s = &run->stats;
    int64_t allocated = s->stat[MT_STAT_ALLOCATED_BYTES][MT_SLOT_ALL].peak;
    mt_table_cell_color(t, verdict_color(run->verdict), "%s",
                        r->separator ? mt_sim_verdict_word(run->verdict)
                                     : verdict_text(run->verdict));
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

/* ---- what it comes to ---- */

/* The settings, safe for a terminal: those of the recording are text of the file. */
struct run_name {
    char s[4 * sizeof((struct mt_sim_run *)0)->conf]; /* \x1b for a byte, at the most */
};

static struct run_name name_of(const struct mt_sim_run *run)
{
    struct run_name name = {"defaults"};
    struct mt_buf b = {0};
    mt_text_safe(&b, mt_str_from(run->conf));
    if (run->conf[0]) {
        snprintf(name.s, sizeof name.s, "%s", b.failed ? "?" : mt_buf_view(&b).p);
    }
    mt_buf_release(&b);
    return name;
}

static void print_oom(const struct mt_report *r, const struct mt_sim_result *v,
                      const struct mt_sim_run *run)
{
    const struct mt_sim_oom *oom = &run->ooms.v[0];
    bool several = run->n_ooms > 1;
    struct mt_sentence b = {0};
    mt_sentence_add(&b, "  %s: out of memory at event %s: %s asked for",
                    run->recorded && !v->watched ? "as recorded" : name_of(run).s,
                    mt_count_text(oom->event).s, mt_report_size(r, oom->size).s);
    if (!run->of_trace) {
        mt_sentence_add(&b, ", largest free block %s", mt_report_size(r, oom->largest_hole).s);
    }
    if (several) {
        mt_sentence_add(&b, "; the first of %s", mt_count_text(run->n_ooms).s);
    }
    mt_report_line(r, 4, "%s", b.text);
}

static bool same_oom(const struct mt_sim_run *x, const struct mt_sim_run *y)
{
    return x->ooms.n && y->ooms.n && x->n_ooms == y->n_ooms &&
           x->ooms.v[0].event == y->ooms.v[0].event && x->ooms.v[0].size == y->ooms.v[0].size;
}

/* What is told of two runs alike is told once. */
static bool same_served(const struct mt_sim_run *x, const struct mt_sim_run *y)
{
    return !x->recorded && !y->recorded && x->verdict == y->verdict &&
           x->assumed.ooms_served == y->assumed.ooms_served &&
           x->assumed.requests_after == y->assumed.requests_after;
}

/* The refusals of the recording that run i serves, for it and all that serve the same. */
static void print_served(const struct mt_report *r, const struct mt_sim_result *v, size_t i)
{
    const struct mt_sim_run *run = &v->runs[i];
    const struct mt_sim_assumptions *a = &run->assumed;
    struct mt_sentence b = {0};
    size_t others = 0;
    for (size_t k = 0; k < v->n_runs; k++) {
        if (k < i && same_served(&v->runs[k], run)) {
            return;
        }
        others += k > i && same_served(&v->runs[k], run);
    }
    if (!others) {
        mt_sentence_add(&b, "  %s serves ", name_of(run).s);
    } else if (others + 2 == v->n_runs) {
        mt_sentence_add(&b, "  each of these settings serves ");
    } else {
        mt_sentence_add(&b, "  %s and %zu other setting%s serve ", name_of(run).s, others,
                        plural(others));
    }
    mt_sentence_add(&b, "%s request%s that failed in the recording",
                    mt_count_text(a->ooms_served).s, plural(a->ooms_served));
    if (!a->requests_after) {
        mt_sentence_add(&b, ", which asks for nothing after that: all of it fits, what the program "
                            "would have asked for next is not known");
    } else {
        mt_sentence_add(&b,
                        "; how long that memory would have lived is not known, so it is freed "
                        "at once%s",
                        run->verdict == MT_SIM_UNKNOWN
                            ? ". The program would have gone on otherwise: whether that fits is "
                              "unknown"
                            : "");
    }
    struct mt_report lines = in_lines(r);
    mt_report_line(&lines, 4, "%s", b.text);
}

static void print_assumptions(const struct mt_report *r, const struct mt_sim_result *v, size_t i)
{
    const struct mt_sim_run *run = &v->runs[i];
    const struct mt_sim_assumptions *a = &run->assumed;
    if (run->recorded) {
        return;
    }
    if (a->ooms_served) {
        print_served(r, v, i);
    }
    if (a->frees_ignored) {
        mt_report_line(r, 4, "  %s: %s free%s of memory that it refused %s ignored", name_of(run).s,
                       mt_count_text(a->frees_ignored).s, plural(a->frees_ignored),
                       a->frees_ignored == 1 ? "is" : "are");
    }
}

/* The best what-if. */
static const struct mt_sim_run *best_of(const struct mt_sim_result *v)
{
    const struct mt_sim_run *best = &v->runs[1];
    for (size_t i = 2; i < v->n_runs; i++) {
        if (mt_sim_run_compare(&v->runs[i], best) < 0) {
            best = &v->runs[i];
        }
    }
    return best;
}

/* Whether x ran under a bound of the user's that y did not have. */
static bool bounds_differ(const struct mt_sim_run *x, const struct mt_sim_run *y)
{
    return x->limit.given != y->limit.given || x->capacity.given != y->capacity.given;
}

/* Less than a hundredth is not worth a restart. */
static bool reserves_less(const struct mt_sim_run *run, const struct mt_sim_run *recorded)
{
    return run->peak.reserved < recorded->peak.reserved - recorded->peak.reserved / 100;
}

/* Whether a shell takes it in double quotes as it is. */
static bool is_plain(struct mt_str s)
{
    size_t n = 0;
    while (n < s.n && !strchr("\"$`\\!", s.p[n])) {
        n++;
    }
    return n == s.n && mt_str_ascii(s) == s.n;
}

static void print_how_to(const struct mt_report *r, const struct mt_sim_result *v,
                         const struct mt_sim_run *run)
{
    static const char words[] = "  It is read when the process starts:";
    if (v->watched && is_pytorch(v)) {
        struct mt_report lines = in_lines(r);
        mt_report_line(
            &lines, 4,
            "  PyTorch's settings act on what it asks its own cache for, which is not in "
            "this recording: memtool capture --mode torch records that.");
        return;
    }
    size_t all = sizeof words + strlen("export =\"\"") + strlen(v->variable) + strlen(run->conf);
    if (!is_plain(mt_str_from(run->conf))) {
        return; /* to be copied into a shell: what the file's text would do there is not known */
    }
    bool below = r->width && all > (size_t)r->width; /* a command stays whole */
    fprintf(r->out, "%s%sexport %s=\"%s\"\n", words, below ? "\n    " : " ", v->variable,
            run->conf);
}

/* A setting that does not cure is not recommended, only what it saves is told. */
static void print_saving(const struct mt_report *r, const struct mt_sim_run *best,
                         const struct mt_sim_run *recorded)
{
    if (reserves_less(best, recorded)) {
        mt_report_line(
            r, 4,
            "  None of these settings would have avoided the failure; %s only reserves %s "
            "less at the peak.",
            name_of(best).s, mt_report_size(r, recorded->peak.reserved - best->peak.reserved).s);
    } else {
        mt_report_line(r, 4, "  None of these settings would have avoided the failure.");
    }
}

/* The recording failed. */
static void print_cure(const struct mt_report *r, const struct mt_sim_result *v,
                       const struct mt_sim_run *best, const struct mt_sim_run *recorded)
{
    if (best->verdict == MT_SIM_OUT_OF_MEMORY) {
        print_saving(r, best, recorded);
        return;
    }
    mt_report_line(
        r, 4, "  %s would have served what failed%s.", name_of(best).s,
        best->verdict == MT_SIM_FITS ? "" : "; whether the run would have ended well is not known");
    mt_report_line(
        r, 4, "  If memory grows step after step, that only puts it off: memtool leaks tells.");
    print_how_to(r, v, best);
}

static void print_edited_saving(const struct mt_report *r, const struct mt_sim_run *edited,
                                const struct mt_sim_run *recorded)
{
    uint64_t now = edited->peak.reserved, then = recorded->peak.reserved;
    if (now == then) {
        mt_report_line(r, 4, "  The edited program reserves as much at the peak.");
    } else {
        mt_report_line(r, 4, "  The edited program reserves %s %s at the peak.",
                       mt_report_size(r, now < then ? then - now : now - then).s,
                       now < then ? "less" : "more");
    }
}

static void print_advice(const struct mt_report *r, const struct mt_sim_result *v)
{
    if (v->n_runs < 2) {
        return;
    }
    const struct mt_sim_run *best = best_of(v), *recorded = &v->runs[0];
    fputc('\n', r->out);
    if (v->n_edits) {
        print_edited_saving(r, &v->runs[1], recorded);
    } else if (recorded->of_trace) {
        mt_report_line(r, 4,
                       "  The replay is not exact: no setting is recommended on its strength.");
    } else if (bounds_differ(best, recorded)) {
        if (best->verdict == MT_SIM_OUT_OF_MEMORY) {
            mt_report_line(r, 4, "  Within the bounds that were given, none of these fits.");
        } else {
            mt_report_line(r, 4, "  Within the bounds that were given, the best is: %s (%s).",
                           name_of(best).s,
                           best->verdict == MT_SIM_FITS ? "fits" : "nothing recorded is refused");
        }
    } else if (recorded->verdict == MT_SIM_OUT_OF_MEMORY) {
        print_cure(r, v, best, recorded);
    } else if (reserves_less(best, recorded) && best->verdict == MT_SIM_FITS) {
        mt_report_line(r, 4, "  Best of these: %s reserves %s less at the peak.", name_of(best).s,
                       mt_report_size(r, recorded->peak.reserved - best->peak.reserved).s);
        print_how_to(r, v, best);
    } else if (best->verdict == MT_SIM_OUT_OF_MEMORY) {
        mt_report_line(r, 4, "  None of these fits, as the recorded settings do.");
    } else {
        mt_report_line(r, 4, "  None of these reserves less than the recorded settings.");
    }
}

/* How a setting fails: that it does stands in the table. */
static bool is_detail(const struct mt_report *r, const struct mt_sim_result *v,
                      const struct mt_sim_run *run)
{
    return !r->verbose && !run->recorded && v->n_runs > 2 && run->verdict == MT_SIM_OUT_OF_MEMORY;
}

static void print_notes(const struct mt_report *r, const struct mt_sim_result *v)
{
    size_t same = 0;
    bool blank = false, untold = false;
    for (size_t i = 0; i < v->n_runs; i++) {
        const struct mt_sim_run *run = &v->runs[i];
        bool repeats = i > 0 && same_oom(run, &v->runs[0]);
        same += repeats;
        if (is_detail(r, v, run)) {
            untold |= !repeats;
            continue;
        }
        if (!blank && (run->ooms.n || (!run->recorded && run->assumed.ooms_served))) {
            fputc('\n', r->out);
            blank = true;
        }
        if (run->ooms.n && !repeats) {
            print_oom(r, v, run);
        }
        print_assumptions(r, v, i);
    }
    if (same) {
        mt_report_line(r, 4, "  the same request%s fail%s with %s of the other settings",
                       plural(v->runs[0].n_ooms), v->runs[0].n_ooms == 1 ? "s" : "",
                       same + 1 == v->n_runs ? "every one" : mt_count_text(same).s);
    }
    if (untold) {
        fputs(blank ? "" : "\n", r->out);
        mt_report_line(r, 4, "  where a setting fails, and on what: -v");
    }
}

static void add_effect(struct mt_sentence *s, const struct mt_report *r,
                       const struct mt_sim_edit *e)
{
    static const char *const does[] = {
        "go when their call ends and are made again before the backward pass of that call",
        "go when their call ends and come back before the backward pass of that call",
        "are freed when their call ends", "are scaled", "are never made"};
    mt_sentence_add(s, "%s allocation%s", mt_count_text(e->changed).s, plural(e->changed));
    if (e->calls) {
        mt_sentence_add(s, " of %s call%s", mt_count_text(e->calls).s, plural(e->calls));
    }
    mt_sentence_add(s, ", %s in all, %s", mt_report_size(r, e->bytes).s, does[e->kind]);
    if (e->calls) {
        mt_sentence_add(s, "; the last one that outlives a call stays, as its result");
    }
}

/* What each edit changed, and what that assumes. */
static void print_edits(const struct mt_report *r, const struct mt_sim_result *v)
{
    struct mt_report lines = in_lines(r);
    for (size_t i = 0; i < v->n_edits; i++) {
        const struct mt_sim_edit *e = &v->edits[i];
        struct mt_buf b = {0};
        struct mt_sentence s = {0};
        mt_text_safe(&b, mt_str_from(e->pattern));
        mt_sentence_add(&s, "  %s '%s': ", mt_sim_edit_word(e->kind), b.failed ? "" : b.p);
        if (e->changed) {
            add_effect(&s, r, e);
        } else {
            mt_sentence_add(&s, "%s, nothing changes",
                            e->allocations ? "what it matches keeps nothing"
                                           : "no allocation matches");
        }
        mt_report_line(&lines, 4, "%s", s.text);
        mt_buf_release(&b);
    }
}

static void print_search(const struct mt_report *r, const struct mt_sim_result *v)
{
    const struct mt_sim_run *last = &v->runs[v->n_runs - 1];
    uint64_t floor = (uint64_t)last->stats.stat[MT_STAT_REQUESTED_BYTES][MT_SLOT_ALL].peak;
    if (!v->tried) {
        return;
    }
    struct mt_report lines = in_lines(r);
    fputc('\n', r->out);
    mt_report_line(
        &lines, 4,
        "  the best of %s settings, %s; keys that bring nothing are left out. The program asks for "
        "%s at once: no setting can reserve less",
        mt_count_text(v->tried).s, v->tried_all ? "every sensible combination" : "tried key by key",
        mt_report_size(r, floor).s);
}

static enum mt_status print_result(const struct mt_report *r, const struct mt_sim_result *v,
                                   struct mt_buf *b, struct mt_error *err)
{
    print_head(r, v, b);
    fputs("\n  peaks of memory, and what they cost:\n", r->out);
    MT_TRY(print_runs(r, v, b, err));
    fputs(v->n_edits ? "\n" : "", r->out);
    print_edits(r, v);
    print_search(r, v);
    print_notes(r, v);
    print_advice(r, v);
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
    "device,verdict,reserved_bytes,change_bytes,unused_share,allocated_bytes,hit_share,calls,"     \
    "retries,ooms"

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
