/* SPDX-License-Identifier: MIT */
/* What simulate's runs come to: below the table, in sentences. */
#include <string.h>

#include "verbs/simulate/print_text.h"
#include "print/figures.h"
#include "print/labels.h"
#include "support/safe_char.h"

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
    if (!v->chosen && mt_sim_run_grows(run, &v->runs[0])) {
        mt_report_line(r, 4,
                       "  %s: reserved memory still grows in the last third, as recorded it does "
                       "not: over a longer run it may grow without bound",
                       name_of(run).s);
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
        "are freed when their call ends, as if nothing used them later", "are ",
        "are never made, as if nothing needed them"};
    mt_sentence_add(s, "%s allocation%s", mt_count_text(e->changed).s, plural(e->changed));
    if (e->calls) {
        mt_sentence_add(s, " of %s call%s", mt_count_text(e->calls).s, plural(e->calls));
    }
    mt_sentence_add(s, ", %s in all, %s", mt_report_size(r, e->bytes).s, does[e->kind]);
    if (e->kind == MT_SIM_SCALE) {
        mt_sentence_add(s, "%g times as large; no other size changes with them", e->factor);
    } else if (e->calls) {
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
        mt_count_text(v->tried).s,
        v->tried_all ? "every sensible combination"
                     : "first a few values of each key, then the others in the best ones",
        mt_report_size(r, floor).s);
}

static void print_ideal(const struct mt_report *r, const struct mt_sim_result *v)
{
    const struct mt_packing *x = &v->ideal[v->n_edits > 0];
    struct mt_report lines = in_lines(r);
    struct mt_sentence s = {0};
    if (!x->alive) {
        return;
    }
    mt_sentence_add(&s, "  OVER is above what is alive at once, %s", mt_report_size(r, x->alive).s);
    if (v->n_edits) {
        mt_sentence_add(&s, " in the edited program");
    }
    if (v->runs[0].n_ooms > 0) {
        mt_sentence_add(&s, " without what is refused as recorded");
    }
    if (x->known && x->packed == x->alive) {
        mt_sentence_add(&s, "; a packing that knows all lifetimes needs no more");
    } else if (x->known) {
        mt_sentence_add(&s, "; the best packing found that knows all lifetimes needs %s",
                        mt_report_size(r, x->packed).s);
    }
    mt_report_line(&lines, 4, "%s", s.text);
}

void mt_sim_print_outcome(const struct mt_report *r, const struct mt_sim_result *v)
{
    print_ideal(r, v);
    fputs(v->n_edits ? "\n" : "", r->out);
    print_edits(r, v);
    print_search(r, v);
    print_notes(r, v);
    print_advice(r, v);
}
