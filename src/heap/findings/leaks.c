/* SPDX-License-Identifier: MIT */
/*
 * Which stacks leak: three walks over the trace.
 *
 * The first walk finds the candidates, stacks that hold memory at the end of the last whole period;
 * all others have an empty floor. The second records each candidate's lowest level per period and
 * judges it (floor.c). The third records the sum of everything that does not rise by itself and
 * judges that too: a leak whose stack differs each time (a recursion, generated code) shows there
 * only. Levels are kept lazily: a stack is touched when it allocates or frees, not once a period.
 *
 * Periods beyond MT_LEAK_POINTS are taken together in equal runs, so memory stays bounded.
 */
#include "heap/findings/leaks.h"

#include <math.h>
#include <stdlib.h>

#include "support/mem.h"

#include "heap/findings/floor.h"
#include "heap/stacks/held.h"
#include "torch/frame_class.h"

const char *mt_leak_verdict_id(enum mt_leak_verdict v)
{
    static const char *const IDS[] = {"unknown", "no_leak", "leak"};
    return IDS[v];
}

/* Level of one row (a candidate stack; row 0 is the rest) while walking. */
struct level {
    uint64_t bytes, count;
    uint64_t low_bytes, low_count; /* least within the current place */
    size_t place;                  /* of the last touch; 0: before the first */
};

/* Rows of `n` places each. */
struct table {
    size_t rows, n;
    struct level *levels;
    uint64_t *bytes, *count, *allocated; /* rows * n */
    uint64_t *volume;                    /* n: allocated by all rows */
    uint64_t *others;                    /* n: scratch */
};

struct walk {
    const struct mt_snapshot *s;
    const struct mt_replay *r;
    struct mt_filtered *f;
    const struct mt_leaks *out;
    size_t first;     /* index in bounds of the first counted period's begin */
    uint32_t *row_of; /* by stack id; 0: the rest */
    bool *held;       /* by event: mt_held_find */
    struct table t;
};

static void table_release(struct table *t)
{
    mt_mem_free(t->levels);
    mt_mem_free(t->bytes);
    mt_mem_free(t->count);
    mt_mem_free(t->allocated);
    mt_mem_free(t->volume);
    mt_mem_free(t->others);
    *t = (struct table){0};
}

static bool table_init(struct table *t, size_t rows, size_t n)
{
    *t = (struct table){.rows = rows, .n = n};
    t->levels = mt_mem_zalloc(rows, sizeof *t->levels);
    t->bytes = mt_mem_zalloc(rows * n, sizeof *t->bytes);
    t->count = mt_mem_zalloc(rows * n, sizeof *t->count);
    t->allocated = mt_mem_zalloc(rows * n, sizeof *t->allocated);
    t->volume = mt_mem_zalloc(n, sizeof *t->volume);
    t->others = mt_mem_alloc(n, sizeof *t->others);
    return t->levels && t->bytes && t->count && t->allocated && t->volume && t->others;
}

/* Places are numbered from 1; 0 is warm-up and n + 1 the tail, neither is stored. */
static void store(struct table *t, size_t row, size_t place, uint64_t bytes, uint64_t count)
{
    if (place >= 1 && place <= t->n) {
        t->bytes[row * t->n + place - 1] = bytes;
        t->count[row * t->n + place - 1] = count;
    }
}

/* Closes the places between the row's last touch and `place`. */
static struct level *touch(struct table *t, size_t row, size_t place)
{
    struct level *l = &t->levels[row];
    if (l->place != place) {
        store(t, row, l->place, l->low_bytes, l->low_count);
        for (size_t p = l->place + 1; p < place; p++) {
            store(t, row, p, l->bytes, l->count);
        }
        l->place = place;
        l->low_bytes = l->bytes;
        l->low_count = l->count;
    }
    return l;
}

static void level_add(struct table *t, size_t row, size_t place, uint64_t size)
{
    struct level *l = touch(t, row, place);
    l->bytes += size;
    l->count++;
    if (place >= 1 && place <= t->n) {
        t->allocated[row * t->n + place - 1] += size;
        t->volume[place - 1] += size;
    }
}

static void level_remove(struct table *t, size_t row, size_t place, uint64_t size)
{
    struct level *l = touch(t, row, place);
    l->bytes -= size;
    l->count--;
    l->low_bytes = l->bytes < l->low_bytes ? l->bytes : l->low_bytes;
    l->low_count = l->count < l->low_count ? l->count : l->low_count;
}

static bool passes(const struct walk *w, size_t event)
{
    return !w->held[event] && (!w->f || mt_filtered_event(w->f, w->r->device, event));
}

/* The place that event i lies in, given the place before it. */
static size_t place_at(const struct walk *w, size_t i, size_t place)
{
    const struct mt_leaks *l = w->out;
    while (place <= w->t.n && i >= l->periods.bounds.v[w->first + place * l->stride]) {
        place++;
    }
    return place;
}

/* One walk over the trace into w->t. */
static void walk_levels(struct walk *w)
{
    size_t place = 0;
    struct mt_step at;
    mt_replay_begin(w->r, &at);
    while (mt_replay_next(w->r, &at)) {
        place = place_at(w, at.index, place);
        if ((at.kind == MT_STEP_ALLOC || at.kind == MT_STEP_FREE) && at.alloc != MT_NEVER &&
            passes(w, at.alloc)) {
            const struct mt_event *a = &w->r->events[at.alloc];
            level_remove(&w->t, w->row_of[a->stack], place, a->size);
        }
        if (at.kind == MT_STEP_ALLOC && passes(w, at.index)) {
            level_add(&w->t, w->row_of[at.event->stack], place, at.event->size);
        }
    }
    for (size_t row = 0; row < w->t.rows; row++) {
        (void)touch(&w->t, row, w->t.n + 1);
    }
}

/* ---- the three walks ---- */

/* Reserved and live curves, and the peak of the last place. */
static bool walk_curves(struct walk *w, struct mt_leaks *out, size_t n)
{
    size_t place = 0;
    uint64_t low = 0;
    w->t.n = n;
    struct mt_step at;
    mt_replay_begin(w->r, &at);
    uint64_t reserved = at.reserved_bytes;
    while (mt_replay_next(w->r, &at)) {
        size_t now = place_at(w, at.index, place);
        if (now != place) {
            if (place >= 1 &&
                (!mt_vec_push(&out->live, low) || !mt_vec_push(&out->reserved, reserved))) {
                return false;
            }
            place = now;
            low = at.live_bytes;
        }
        low = at.live_bytes < low ? at.live_bytes : low;
        reserved = at.reserved_bytes;
        if (place == n && at.live_bytes > out->last_peak) {
            out->last_peak = at.live_bytes;
        }
    }
    out->has_peak = true;
    return place > n || (mt_vec_push(&out->live, low) && mt_vec_push(&out->reserved, reserved));
}

/* Gives a row to every stack that holds memory at the end of the last whole period. */
static size_t find_candidates(struct walk *w)
{
    const struct mt_leaks *l = w->out;
    uint32_t end = l->periods.bounds.v[l->periods.bounds.n - 1];
    uint32_t rows = 1;
    for (uint32_t i = 0; i < end; i++) {
        const struct mt_event *e = &w->r->events[i];
        bool stays = mt_event_kind(e) == MT_STEP_ALLOC && w->r->partner[i] >= end;
        if (stays && !w->row_of[e->stack] && passes(w, i)) {
            w->row_of[e->stack] = rows++;
        }
    }
    return rows;
}

/* The most that a series fell below an earlier high. */
static uint64_t largest_drop(const uint64_t *y, size_t n)
{
    uint64_t high = 0;
    uint64_t drop = 0;
    for (size_t i = 0; i < n; i++) {
        high = y[i] > high ? y[i] : high;
        drop = high - y[i] > drop ? high - y[i] : drop;
    }
    return drop;
}

/* `alone`: the row is judged beside what the others allocate; a row that stands for the work itself
 * (the rest, or memory without frames) beside all. */
static struct mt_rising judge_row(struct table *t, size_t row, bool alone)
{
    uint64_t *bytes = &t->bytes[row * t->n];
    uint64_t *count = &t->count[row * t->n];
    for (size_t p = 0; p < t->n; p++) {
        t->others[p] = t->volume[p] - (alone ? t->allocated[row * t->n + p] : 0);
    }
    uint64_t dropped = largest_drop(bytes, t->n);
    mt_floor_of(bytes, t->n);
    mt_floor_of(count, t->n);
    struct mt_track track = {bytes, count, t->others};
    return mt_track_judge(&track, t->n, dropped);
}

static bool add_growth(const struct table *t, struct mt_leaks *out, size_t row, uint32_t stack,
                       const struct mt_rising *r)
{
    const uint64_t *bytes = &t->bytes[row * t->n];
    struct mt_growth g = {
        .stack = stack,
        .rest = row == 0,
        .bytes_per_step = (int64_t)llround(r->slope / (double)out->stride),
        .live_bytes = bytes[t->n - 1],
        .count = t->count[row * t->n + t->n - 1],
        .first_bytes = bytes[0],
        .first_count = t->count[row * t->n],
    };
    out->bytes_per_step += g.bytes_per_step;
    return mt_vec_push(&out->stacks, g);
}

static void note_filled(struct mt_leaks *out, const struct table *t, size_t row, uint32_t stack)
{
    const uint64_t *bytes = &t->bytes[row * t->n];
    uint64_t grown = bytes[t->n - 1] - bytes[0];
    if (grown > out->filled_bytes) {
        out->filled_bytes = grown;
        out->filled_stack = stack;
    }
}

/* Judges every candidate; those that rise keep their place in row_of, the others become the rest.
 */
static enum mt_status judge_stacks(struct walk *w, struct mt_leaks *out, size_t n,
                                   struct mt_error *err)
{
    size_t rows = find_candidates(w);
    if (!table_init(&w->t, rows, n)) {
        return mt_fail_nomem(err);
    }
    walk_levels(w);
    uint32_t kept = 0;
    for (uint32_t stack = 0; stack < w->s->n_stacks; stack++) {
        uint32_t row = w->row_of[stack];
        w->row_of[stack] = 0;
        if (!row) {
            continue;
        }
        struct mt_rising r = judge_row(&w->t, row, w->s->stacks[stack].n > 0);
        if (r.rise == MT_RISE_FILLS) {
            note_filled(out, &w->t, row, stack);
        } else if (r.rise == MT_RISE_STEADY) {
            w->row_of[stack] = ++kept;
            if (!add_growth(&w->t, out, row, stack, &r)) {
                return mt_fail_nomem(err);
            }
        }
    }
    return MT_OK;
}

/* The rest, and the fit of the sum of what rises. */
static enum mt_status judge_rest(struct walk *w, struct mt_leaks *out, size_t n,
                                 struct mt_error *err)
{
    size_t rows = out->stacks.n + 1;
    table_release(&w->t);
    if (!table_init(&w->t, rows, n)) {
        return mt_fail_nomem(err);
    }
    walk_levels(w);
    struct mt_rising r = judge_row(&w->t, 0, false);
    bool rises = r.rise == MT_RISE_STEADY;
    if (rises && !add_growth(&w->t, out, 0, 0, &r)) {
        return mt_fail_nomem(err);
    }
    uint64_t *sum = w->t.others;
    for (size_t p = 0; p < n; p++) {
        sum[p] = rises ? w->t.bytes[p] : 0;
        for (size_t row = 1; row < rows; row++) {
            sum[p] += w->t.bytes[row * n + p];
        }
    }
    out->fit = out->stacks.n ? mt_line_through(sum, n).fit : 0;
    return MT_OK;
}

/* ---- the verdict ---- */

static int compare_growth(const void *a, const void *b)
{
    const struct mt_growth *x = a;
    const struct mt_growth *y = b;
    if (x->bytes_per_step != y->bytes_per_step) {
        return x->bytes_per_step < y->bytes_per_step ? 1 : -1;
    }
    return (x->stack > y->stack) - (x->stack < y->stack);
}

/* Whether live memory as a whole rose with the largest cache; else one line only took over what
 * others gave up, or it is the way back from a dip. */
static bool has_filled(const struct mt_leaks *l)
{
    uint64_t before = l->live.v[0], after = l->live.v[l->live.n - 1];
    return l->filled_bytes && after > before && after - before >= l->filled_bytes / 2;
}

/* Whether at least half of what live memory grew by is held. */
static bool has_held(const struct mt_leaks *l)
{
    uint64_t before = l->live.v[0], after = l->live.v[l->live.n - 1];
    return l->held_bytes && after > before && l->held_bytes >= (after - before) / 2;
}

/* Whether most of the growth is of as many tensors as before, each made anew. */
static bool is_regrown(const struct mt_leaks *l)
{
    int64_t regrown = 0;
    for (size_t i = 0; i < l->stacks.n; i++) {
        const struct mt_growth *g = &l->stacks.v[i];
        regrown += g->count == g->first_count ? g->bytes_per_step : 0;
    }
    return regrown > l->bytes_per_step / 2;
}

/* Whether the steps are of a few events each and keep what they take: a program that only fills the
 * card, one block after the other, looks like that. Where the program or the user names the steps,
 * nothing is left to doubt. */
static bool is_fill(const struct mt_leaks *l)
{
    enum { FEW_EVENTS = 8 };
    const struct mt_periods *p = &l->periods;
    size_t n = mt_periods_count(p);
    uint64_t low = l->live.v[l->live.n - 1];
    uint64_t moves = l->last_peak > low ? l->last_peak - low : 0;
    return p->source == MT_PERIOD_DETECTED && !p->passes.n &&
           (p->bounds.v[n] - p->bounds.v[0]) / n < FEW_EVENTS &&
           moves / l->stride <= (uint64_t)l->bytes_per_step / 4 * 5;
}

static bool has_cache_line(const struct mt_snapshot *s, uint32_t stack)
{
    const struct mt_stack *k = &s->stacks[stack];
    for (uint32_t i = 0; i < k->n; i++) {
        const struct mt_frame *f = &s->frames[s->stack_frames[k->first + i]];
        if (mt_frame_is_cache(mt_frame_file_kind(mt_snapshot_str(s, f->filename)),
                              mt_frame_name_kind(mt_snapshot_str(s, f->name)))) {
            return true;
        }
    }
    return false;
}

/* Whether most of the growth is made by lines that are called a cache. */
static bool is_cache(const struct mt_leaks *l, const struct mt_snapshot *s)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < l->stacks.n; i++) {
        const struct mt_growth *g = &l->stacks.v[i];
        bytes += !g->rest && has_cache_line(s, g->stack) ? g->bytes_per_step : 0;
    }
    return bytes > l->bytes_per_step / 2;
}

/* How what one stack keeps arrived. */
struct arrival {
    uint64_t count, size; /* of what is alive behind the last whole period; size: of the last one */
    uint64_t periods;     /* in which some of it was allocated */
    size_t period;        /* the last of them */
    bool one_size;
};

static void count_arrival(struct arrival *x, uint64_t size, size_t period)
{
    x->one_size = !x->count || (x->one_size && x->size == size);
    x->periods += !x->count || x->period != period;
    x->count++;
    x->size = size;
    x->period = period;
}

/* Whether it came several at a time, as one for each layer, or, all of one size, in fewer than
 * three of four steps. */
static bool comes_in_pages(const struct arrival *x, size_t steps)
{
    return x->count >= 2 * x->periods || (x->one_size && x->periods * 4 < steps * 3);
}

/* By row of w->row_of, which numbers the stacks that rise. */
static void count_arrivals(struct arrival *arrivals, const struct walk *w)
{
    const struct mt_leaks *l = w->out;
    size_t n = mt_periods_count(&l->periods), k = 0;
    for (uint32_t i = l->periods.bounds.v[0]; i < l->periods.bounds.v[n]; i++) {
        const struct mt_event *e = &w->r->events[i];
        k += i >= l->periods.bounds.v[k + 1];
        if (mt_event_allocates(e) && w->r->partner[i] >= l->periods.bounds.v[n] && passes(w, i)) {
            count_arrival(&arrivals[w->row_of[e->stack]], e->size, k);
        }
    }
}

/* Whether most of the growth is such. */
static enum mt_status is_pool(bool *is, const struct walk *w, struct mt_error *err)
{
    const struct mt_leaks *l = w->out;
    struct arrival *arrivals = mt_mem_zalloc(l->stacks.n + 1, sizeof *arrivals);
    if (!arrivals) {
        return mt_fail_nomem(err);
    }
    count_arrivals(arrivals, w);
    int64_t bytes = 0;
    for (size_t i = 0; i < l->stacks.n; i++) {
        const struct mt_growth *g = &l->stacks.v[i];
        const struct arrival *x = &arrivals[w->row_of[g->stack]];
        bytes +=
            !g->rest && comes_in_pages(x, mt_periods_count(&l->periods)) ? g->bytes_per_step : 0;
    }
    *is = bytes > l->bytes_per_step / 2;
    mt_mem_free(arrivals);
    return MT_OK;
}

/* Whether live memory as a whole falls, or rises by less than a quarter of what these lines do. */
static bool is_outweighed(const struct mt_leaks *l)
{
    uint64_t before = l->live.v[0], after = l->live.v[l->live.n - 1];
    double rises = (double)l->bytes_per_step * (double)((l->live.n - 1) * l->stride);
    return after < before || (double)(after - before) < rises / 4;
}

/* Why growth above the line is no proof of a leak; MT_LEAK_RISES where it is. */
static enum mt_leak_reason doubt(const struct mt_leaks *l, const struct mt_snapshot *s)
{
    const struct mt_periods *p = &l->periods;
    if (p->may_be_layers && !p->of_frames) {
        return MT_LEAK_LAYERS;
    }
    if (is_fill(l)) {
        return MT_LEAK_FILL;
    }
    if (!p->learns && is_cache(l, s)) {
        return MT_LEAK_CACHE;
    }
    if (p->may_be_layers) {
        return MT_LEAK_LAYERS;
    }
    if (is_outweighed(l)) {
        return MT_LEAK_OUTWEIGHED;
    }
    return p->passes.n && !p->learns && is_regrown(l) ? MT_LEAK_REGROWN : MT_LEAK_RISES;
}

static enum mt_leak_reason below_line(const struct mt_leaks *l)
{
    bool falls = l->live.v[l->live.n - 1] < l->live.v[0];
    return falls ? MT_LEAK_OUTWEIGHED : MT_LEAK_BELOW_LINE;
}

static void conclude(struct mt_leaks *out, const struct mt_snapshot *s,
                     const struct mt_leak_options *o)
{
    if (out->stacks.n) {
        qsort(out->stacks.v, out->stacks.n, sizeof *out->stacks.v, compare_growth);
    }
    bool above = out->bytes_per_step > 0 && (uint64_t)out->bytes_per_step > o->threshold;
    out->reason = above                     ? doubt(out, s)
                  : out->bytes_per_step > 0 ? below_line(out)
                  : has_held(out)           ? MT_LEAK_HELD
                  : has_filled(out)         ? MT_LEAK_FILLED
                                            : MT_LEAK_FLAT;
    out->verdict = !above                         ? MT_LEAK_NO
                   : out->reason == MT_LEAK_RISES ? MT_LEAK_YES
                                                  : MT_LEAK_UNKNOWN;
    if (o->capacity && out->bytes_per_step > 0) {
        uint64_t room = o->capacity > out->last_peak ? o->capacity - out->last_peak : 0;
        out->has_steps_left = true;
        out->steps_left = room / (uint64_t)out->bytes_per_step;
    }
    /* Reserved memory grows in jumps until the cache is warm: the second half tells what goes on.
     */
    size_t from = out->reserved.n >= 8 ? out->reserved.n / 2 : 0;
    double slope = mt_line_through(out->reserved.v + from, out->reserved.n - from).slope;
    out->reserved_bytes_per_step = (int64_t)llround(slope / (double)out->stride);
}

/* Leaves out the first period, takes periods together when there are too many, and those that do
 * not fill a run count as warm-up. */
static size_t lay_out_places(struct walk *w, struct mt_leaks *out)
{
    size_t whole = mt_periods_count(&out->periods);
    out->counted = whole - 1;
    out->stride = (out->counted + MT_LEAK_POINTS - 1) / MT_LEAK_POINTS;
    size_t places = out->counted / out->stride;
    w->first = whole - places * out->stride;
    return places;
}

/* How much more is held at the end of the last whole period than at that of the first. */
static void sum_held(const struct walk *w, struct mt_leaks *out)
{
    uint32_t first = out->periods.bounds.v[1],
             last = out->periods.bounds.v[out->periods.bounds.n - 1];
    uint64_t before = 0, after = 0;
    for (uint32_t i = 0; i < last; i++) {
        uint64_t size = w->held[i] ? w->r->events[i].size : 0;
        before += i < first && w->r->partner[i] >= first ? size : 0;
        after += w->r->partner[i] >= last ? size : 0;
    }
    out->held_bytes = after > before ? after - before : 0;
}

/* The walk's rows are needed for it, and growth that is proven so far. */
static enum mt_status doubt_pool(const struct walk *w, struct mt_leaks *out, struct mt_error *err)
{
    bool pool = false;
    if (out->periods.passes.n && !out->periods.learns) {
        MT_TRY(is_pool(&pool, w, err));
    }
    out->verdict = pool ? MT_LEAK_UNKNOWN : MT_LEAK_YES;
    out->reason = pool ? MT_LEAK_POOL : MT_LEAK_RISES;
    return MT_OK;
}

static enum mt_status analyse(struct walk *w, struct mt_leaks *out, const struct mt_leak_options *o,
                              struct mt_error *err)
{
    size_t places = lay_out_places(w, out);
    w->row_of = mt_mem_zalloc(w->s->n_stacks, sizeof *w->row_of);
    w->held = mt_mem_zalloc(w->r->n, sizeof *w->held);
    if (!w->row_of || !w->held || !walk_curves(w, out, places)) {
        return mt_fail_nomem(err);
    }
    MT_TRY(mt_held_find(w->held, w->r, &out->periods, err));
    sum_held(w, out);
    MT_TRY(judge_stacks(w, out, places, err));
    MT_TRY(judge_rest(w, out, places, err));
    conclude(out, w->s, o);
    return out->verdict == MT_LEAK_YES ? doubt_pool(w, out, err) : MT_OK;
}

/* A fill that does not last is none of a leak: at the end of the trace at least a quarter of what
 * it took is gone. */
static void take_back_fill(struct mt_leaks *out, const struct mt_replay *r)
{
    const struct mt_periods *p = &out->periods;
    if (out->reason != MT_LEAK_FILL) {
        return;
    }
    uint64_t begin = 0, end = 0;
    struct mt_step at;
    mt_replay_begin(r, &at);
    while (mt_replay_next(r, &at) && at.index < p->bounds.v[p->bounds.n - 1]) {
        begin = at.index <= p->bounds.v[0] ? at.live_bytes : begin;
        end = at.live_bytes;
    }
    uint64_t grown = end > begin ? end - begin : 0;
    if (end > r->end_bytes && end - r->end_bytes >= grown / 4) {
        out->verdict = MT_LEAK_NO;
        out->reason = MT_LEAK_GIVEN_BACK;
        out->filled_bytes = grown;
        out->given_back_bytes = end - r->end_bytes;
        out->stacks.n = 0;
        out->bytes_per_step = 0;
        out->fit = 0;
        out->has_steps_left = false;
    }
}

enum mt_status mt_leaks_find(struct mt_leaks *out, const struct mt_snapshot *s,
                             const struct mt_replay *r, struct mt_filtered *f,
                             const struct mt_leak_options *o, struct mt_error *err)
{
    *out = (struct mt_leaks){.device = r->device, .threshold = o->threshold};
    MT_TRY(mt_periods_find(&out->periods, r, &o->period, err));
    size_t whole = mt_periods_count(&out->periods);
    if (whole < MT_PERIODS_NEEDED) {
        out->reason = r->n == 0                    ? MT_LEAK_NO_EVENTS
                      : out->periods.passes.n == 1 ? MT_LEAK_ONE_PASS
                      : !out->periods.bounds.n     ? MT_LEAK_NO_PERIOD
                                                   : MT_LEAK_TOO_SHORT;
        return MT_OK;
    }
    struct walk w = {.s = s, .r = r, .f = f, .out = out};
    enum mt_status status = analyse(&w, out, o, err);
    if (status == MT_OK) {
        take_back_fill(out, r);
    }
    table_release(&w.t);
    mt_mem_free(w.row_of);
    mt_mem_free(w.held);
    return status;
}

void mt_leaks_release(struct mt_leaks *l)
{
    mt_periods_release(&l->periods);
    mt_vec_release(&l->stacks);
    mt_vec_release(&l->live);
    mt_vec_release(&l->reserved);
    *l = (struct mt_leaks){0};
}
