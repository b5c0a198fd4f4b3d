/* SPDX-License-Identifier: MIT */
/*
 * One walk over the trace fills the rows; what stands out is judged against the medians of the
 * whole steps after warm-up.
 */
#include "heap/findings/steps.h"

#include <stdlib.h>
#include <string.h>

#include "support/checked.h"
#include "support/mem.h"

#include "heap/findings/counting.h"
#include "heap/findings/model_layers.h"
#include "heap/findings/peak.h"
#include "heap/findings/phases.h"

double mt_step_hit_rate(const struct mt_step_part *p)
{
    return p->requests ? 1 - (double)p->misses / (double)p->requests : 1;
}

/* ---- rows ---- */

struct filling {
    struct mt_trace_steps *out;
    const struct mt_replay *r;
    const unsigned char *phases;
    size_t next;   /* row that begins next */
    bool called;   /* the driver, since the last request */
    uint64_t live; /* before the event at hand */
};

static struct mt_step_row *row_at(struct filling *x, size_t event)
{
    const struct mt_trace_steps *out = x->out;
    if (x->next < out->rows.n && event == out->rows.v[x->next].from) {
        out->rows.v[x->next].live_before = x->live;
        x->next++;
    }
    return x->next ? &x->out->rows.v[x->next - 1] : NULL;
}

static void count_event(struct mt_step_part *p, const struct mt_step *at, bool missed,
                        uint64_t before)
{
    p->events++;
    p->change_bytes += (int64_t)(at->live_bytes - before);
    p->peak_bytes = at->live_bytes > p->peak_bytes ? at->live_bytes : p->peak_bytes;
    p->device_allocs += at->kind == MT_STEP_RESERVE;
    p->device_frees += at->kind == MT_STEP_RELEASE;
    if (at->kind == MT_STEP_ALLOC) {
        p->requests++;
        p->requested_bytes += at->event->size;
        p->misses += missed;
    }
}

static void fill_row(struct filling *x, const struct mt_step *at)
{
    struct mt_step_row *row = row_at(x, at->index);
    if (row) {
        enum mt_phase phase = (enum mt_phase)x->phases[at->index];
        if (at->live_bytes > row->all.peak_bytes) {
            row->peak_event = at->index;
            row->peak_phase = phase;
        }
        count_event(&row->all, at, x->called, x->live);
        count_event(&row->phases[phase], at, x->called, x->live);
        row->live_after = at->live_bytes;
    }
    x->called = at->kind == MT_STEP_RESERVE || (x->called && at->kind != MT_STEP_ALLOC);
    x->live = at->live_bytes;
}

static void count_passes(struct mt_trace_steps *out)
{
    size_t row = 0;
    for (size_t i = 0; out->rows.n && i < out->periods.passes.n; i++) {
        uint32_t begin = out->periods.passes.v[i].begin;
        while (row + 1 < out->rows.n && begin >= out->rows.v[row].to) {
            row++;
        }
        out->rows.v[row].passes += begin >= out->rows.v[row].from && begin < out->rows.v[row].to;
    }
}

/* PyTorch records the call of the driver before the request that it is for: so does a step. */
static size_t first_of_step(const struct mt_replay *r, size_t bound, size_t least)
{
    while (bound > least && mt_event_kind(&r->events[bound - 1]) == MT_STEP_RESERVE) {
        bound--;
    }
    return bound;
}

static bool lay_out(struct mt_trace_steps *out, const struct mt_replay *r, unsigned char *phases)
{
    const struct mt_periods *p = &out->periods;
    for (size_t k = 0; k < p->bounds.n; k++) {
        size_t bound = p->bounds.v[k], next = k + 1 < p->bounds.n ? p->bounds.v[k + 1] : r->n;
        if (bound >= r->n) {
            break; /* --period may end with the trace */
        }
        size_t from = first_of_step(r, bound, k ? p->bounds.v[k - 1] + 1 : 0);
        size_t to = next < r->n ? first_of_step(r, next, bound + 1) : r->n;
        memset(phases + from, phases[bound], bound - from);
        struct mt_step_row row = {.from = from, .to = to};
        row.from_us = r->events[from].time_us;
        row.to_us = r->events[to < r->n ? to : r->n - 1].time_us;
        if (!mt_vec_push(&out->rows, row)) {
            return false;
        }
    }
    out->whole = mt_periods_count(p);
    return true;
}

static bool find_runs(struct mt_trace_steps *x, const unsigned char *phases)
{
    bool ok = true;
    for (size_t k = 0; ok && k < x->rows.n; k++) {
        for (size_t i = x->rows.v[k].from; ok && i < x->rows.v[k].to; i++) {
            struct mt_phase_run run = {(uint32_t)i, phases[i]};
            bool begins = i == x->rows.v[k].from || phases[i] != phases[i - 1];
            ok = !begins || mt_vec_push(&x->runs, run);
        }
    }
    return ok;
}

/* ---- warm-up, and what stands out ---- */

/* Reading one figure of a row; -1 as time: none. */
enum figure { FIGURE_PEAK, FIGURE_TRAINING, FIGURE_DRIVER, FIGURE_US, FIGURE_REQUESTS };

static uint64_t figure_of(const struct mt_step_row *row, enum figure f)
{
    switch (f) {
    case FIGURE_PEAK: return row->all.peak_bytes;
    case FIGURE_REQUESTS: return row->all.requests;
    case FIGURE_TRAINING: return row->all.requests - row->phases[MT_PHASE_EVALUATION].requests;
    case FIGURE_DRIVER: return row->all.device_allocs;
    default: return row->to_us >= row->from_us ? (uint64_t)row->to_us - (uint64_t)row->from_us : 0;
    }
}

/* The rows [first, end) that medians are of. */
struct range {
    size_t first, end;
};

static struct range judged(const struct mt_trace_steps *x)
{
    size_t end = x->whole ? x->whole : x->rows.n, first = 0;
    while (first < end && x->rows.v[first].warm_up) {
        first++;
    }
    return (struct range){first < end ? first : 0, end};
}

static uint64_t median(const struct mt_trace_steps *x, struct range of, enum figure f,
                       uint64_t *scratch)
{
    size_t n = of.end - of.first;
    for (size_t i = 0; i < n; i++) {
        scratch[i] = figure_of(&x->rows.v[of.first + i], f);
    }
    if (n) {
        qsort(scratch, n, sizeof *scratch, mt_compare_u64);
    }
    return n ? scratch[n / 2] : 0;
}

/* The first steps are warm-up as long as the driver is called, if a later one does without. */
static void mark_warm_up(struct mt_trace_steps *x)
{
    size_t quiet = 1;
    while (quiet < x->whole && x->rows.v[quiet].all.device_allocs) {
        quiet++;
    }
    size_t end = quiet < x->whole ? quiet : 1;
    for (size_t i = 0; x->rows.n > 1 && i < end; i++) {
        x->rows.v[i].warm_up = true;
    }
}

struct usual {
    enum figure figure;
    uint64_t middle, spread; /* what half of the steps differ by, at most */
};

/* By more than a tenth, and more than three times the spread. Times scatter with whatever else the
 * machine does: by half, and only where they are long and even. */
static bool stands_out(const struct mt_step_row *row, const struct usual *x)
{
    enum { SHORT_US = 1000 };
    uint64_t value = figure_of(row, x->figure);
    uint64_t off = value > x->middle ? value - x->middle : x->middle - value;
    if (x->figure == FIGURE_US) {
        return x->middle >= SHORT_US && x->spread <= x->middle / 10 && value > x->middle / 2 * 3 &&
               !row->phases[MT_PHASE_EVALUATION].requests;
    }
    return off > x->middle / 10 && off > 3 * x->spread;
}

/* What more than a fifth of the steps have is no exception. */
static void mark_figure(struct mt_trace_steps *x, struct range of, struct usual usual, unsigned bit)
{
    size_t found = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = of.first; i < of.end; i++) {
            bool odd = stands_out(&x->rows.v[i], &usual);
            found += odd && pass == 0;
            bool few = found * 5 <= of.end - of.first;
            x->rows.v[i].odd |= odd && pass == 1 && few ? bit : 0;
        }
    }
}

static void mark_odd(struct mt_trace_steps *x, uint64_t *scratch)
{
    static const unsigned BITS[] = {MT_STEP_ODD_PEAK, MT_STEP_ODD_LENGTH, MT_STEP_ODD_DRIVER,
                                    MT_STEP_ODD_TIME};
    enum { FEWEST = 4 };
    struct range of = judged(x);
    for (int f = 0; of.end - of.first >= FEWEST && f < (int)MT_COUNT(BITS); f++) {
        uint64_t middle = median(x, of, (enum figure)f, scratch);
        size_t n = of.end - of.first;
        for (size_t i = 0; i < n; i++) {
            uint64_t v = figure_of(&x->rows.v[of.first + i], (enum figure)f);
            scratch[i] = v > middle ? v - middle : middle - v;
        }
        qsort(scratch, n, sizeof *scratch, mt_compare_u64);
        mark_figure(x, of, (struct usual){(enum figure)f, middle, scratch[n / 2]}, BITS[f]);
    }
}

static void find_typical(struct mt_trace_steps *x, uint64_t *scratch)
{
    struct range of = judged(x);
    struct mt_trace_steps_typical *t = &x->typical;
    struct mt_step_part sum = {0};
    for (size_t i = of.first; i < of.end; i++) {
        const struct mt_step_part *all = &x->rows.v[i].all;
        sum.requests += all->requests;
        sum.misses += all->misses;
        t->most_device_allocs =
            all->device_allocs > t->most_device_allocs ? all->device_allocs : t->most_device_allocs;
    }
    t->steps = of.end - of.first;
    t->hit_rate = mt_step_hit_rate(&sum);
    t->peak_bytes = median(x, of, FIGURE_PEAK, scratch);
    t->requests = median(x, of, FIGURE_REQUESTS, scratch);
    t->device_allocs = median(x, of, FIGURE_DRIVER, scratch);
    bool timed = t->steps && x->rows.v[of.first].from_us != MT_NO_TIME;
    t->us = timed ? (int64_t)median(x, of, FIGURE_US, scratch) : -1;
}

static bool judge(struct mt_trace_steps *x)
{
    uint64_t *scratch = mt_mem_alloc(x->rows.n ? x->rows.n : 1, sizeof *scratch);
    if (scratch) {
        mark_warm_up(x);
        mark_odd(x, scratch);
        find_typical(x, scratch);
    }
    mt_mem_free(scratch);
    return scratch != NULL;
}

/* ---- the anatomy of one pass ---- */

/* The first call of the model in the step, or none. */
static const struct mt_pass *pass_of(const struct mt_trace_steps *x, const struct mt_step_row *row)
{
    for (size_t i = 0; i < x->periods.passes.n; i++) {
        const struct mt_pass *p = &x->periods.passes.v[i];
        if (p->begin >= row->from && p->begin < row->to) {
            return p;
        }
    }
    return NULL;
}

static enum mt_status take_apart(struct mt_trace_steps *x, const struct mt_stack_roles *roles,
                                 const unsigned char *phases, const struct mt_categories *c,
                                 struct mt_error *err)
{
    const struct mt_step_row *row = &x->rows.v[x->shown];
    const struct mt_pass *pass = pass_of(x, row);
    size_t until = pass ? pass->end : 0;
    while (pass && until < row->to && phases[until] != MT_PHASE_BACKWARD) {
        until++;
    }
    enum mt_status status = pass ? mt_layers_find(&x->layers, roles, c, *pass, until, err) : MT_OK;
    bool weighed =
        status != MT_OK || mt_layers_weigh(&x->layers, c, x->at_event, row->from, row->to);
    return weighed ? status : mt_fail_nomem(err);
}

/* What is alive after event x->at_event. */
static enum mt_status sum_categories(struct mt_trace_steps *x, const struct mt_categories *c,
                                     struct mt_error *err)
{
    const struct mt_replay *r = c->replay;
    struct mt_peak_options o = {
        .at = {.kind = MT_AT_EVENT, .event = x->at_event}, .by = MT_BY_STACK, .categories = c};
    struct mt_peak p;
    enum mt_status status = mt_peak_find(&p, r->snapshot, r, NULL, &o, err);
    memcpy(x->by_category, p.by_category, sizeof x->by_category);
    memcpy(x->sure, p.sure, sizeof x->sure);
    x->at_bytes = p.bytes;
    for (size_t i = 0; i < p.rows.n; i++) {
        const struct mt_peak_row *row = &p.rows.v[i];
        for (int k = 0; k < MT_CATEGORY_COUNT; k++) {
            bool most = row->by_category[k] > p.by_category[k] / 2;
            x->most_from[k] = most ? row->key : x->most_from[k];
        }
    }
    mt_peak_release(&p);
    return status;
}

static enum mt_status anatomy(struct mt_trace_steps *x, const struct mt_stack_roles *roles,
                              const unsigned char *phases, const struct mt_rules *rules,
                              struct mt_error *err)
{
    const struct mt_replay *r = roles->replay;
    struct mt_categories c;
    enum mt_status status = mt_categories_find(&c, rules, r, err);
    x->shown = x->whole ? x->whole - 1 : x->rows.n ? x->rows.n - 1 : 0;
    x->at_event = x->rows.n ? x->rows.v[x->shown].peak_event : r->peak_done ? r->peak_done - 1 : 0;
    if (status == MT_OK) {
        status = sum_categories(x, &c, err);
    }
    if (status == MT_OK && x->rows.n) {
        status = take_apart(x, roles, phases, &c, err);
    }
    mt_categories_release(&c);
    return status;
}

static enum mt_status find_driver(struct mt_trace_steps *x, const struct mt_replay *r,
                                  struct mt_error *err)
{
    struct range of = judged(x);
    bool rows = of.first < of.end;
    size_t from = rows ? x->rows.v[of.first].from : 0;
    size_t to = rows ? x->rows.v[of.end - 1].to : r->n;
    int64_t from_us = r->events[from].time_us, to_us = r->events[to < r->n ? to : r->n - 1].time_us;
    bool timed = from_us != MT_NO_TIME && to_us != MT_NO_TIME;
    x->driver_span_us = timed ? mt_time_between(from_us, to_us) : -1;
    return mt_driver_price_find(&x->driver, r, from, to, err);
}

static enum mt_status find_leak(struct mt_trace_steps *x, const struct mt_replay *r,
                                const struct mt_period_options *o, struct mt_error *err)
{
    const struct mt_leak_options options = {.period = *o, .threshold = MT_LEAK_THRESHOLD};
    struct mt_leaks leaks;
    enum mt_status status = mt_leaks_find(&leaks, r->snapshot, r, NULL, &options, err);
    x->leak = leaks.verdict;
    x->leak_bytes_per_step = leaks.bytes_per_step;
    bool most = leaks.stacks.n && leaks.stacks.v[0].bytes_per_step > leaks.bytes_per_step / 2;
    x->leak_stack = most ? leaks.stacks.v[0].stack : 0;
    mt_leaks_release(&leaks);
    return status;
}

static void walk(struct filling *x)
{
    struct mt_step at;
    mt_replay_begin(x->r, &at);
    x->live = at.live_bytes;
    while (mt_replay_next(x->r, &at)) {
        fill_row(x, &at);
    }
}

static enum mt_status find(struct mt_trace_steps *out, struct mt_stack_roles *roles,
                           const struct mt_replay *r, const struct mt_rules *rules,
                           struct mt_error *err)
{
    MT_TRY(mt_stack_roles_init(roles, r, err));
    unsigned char *phases = mt_phases_of(roles, &out->periods);
    if (!phases || !lay_out(out, r, phases)) {
        mt_mem_free(phases);
        return mt_fail_nomem(err);
    }
    struct filling x = {.out = out, .r = r, .phases = phases};
    walk(&x);
    count_passes(out);
    bool ok = find_runs(out, phases) && judge(out);
    enum mt_status status = ok ? find_driver(out, r, err) : mt_fail_nomem(err);
    if (status == MT_OK && rules) {
        status = anatomy(out, roles, phases, rules, err);
    }
    mt_mem_free(phases);
    return status;
}

enum mt_status mt_trace_steps_find(struct mt_trace_steps *out, const struct mt_replay *r,
                                   const struct mt_rules *rules, const struct mt_period_options *o,
                                   struct mt_error *err)
{
    *out = (struct mt_trace_steps){.device = r->device, .has_events = r->n > 0};
    MT_TRY(mt_periods_find(&out->periods, r, o, err));
    if (r->n == 0) {
        return MT_OK;
    }
    struct mt_stack_roles roles = {0};
    enum mt_status status = find(out, &roles, r, rules, err);
    mt_stack_roles_release(&roles);
    return status == MT_OK && rules ? find_leak(out, r, o, err) : status;
}

void mt_trace_steps_release(struct mt_trace_steps *x)
{
    mt_periods_release(&x->periods);
    mt_driver_price_release(&x->driver);
    mt_vec_release(&x->rows);
    mt_vec_release(&x->runs);
    mt_vec_release(&x->layers.parts);
    *x = (struct mt_trace_steps){0};
}
