/* SPDX-License-Identifier: MIT */
/*
 * Where each run is in a step of the first one. Step k begins where step k of the first run does;
 * within it the lines of the program that both reach are laid over one another: each time where
 * both reach one as often, else its first and its last time. Of these pairs the longest chain that
 * both runs meet in the same order counts, and what lies between two of them is stretched.
 */
#include <stdlib.h>
#include <string.h>

#include "heap/stacks/frames.h"
#include "support/hash.h"
#include "support/mem.h"
#include "verbs/plots/overlay/overlay.h"

/* An allocation by a line of the program, or by a function. */
struct reached {
    uint64_t line;
    uint32_t event;
};

/* Events of the first run and of another one. */
struct pair {
    uint32_t first, other;
};

/* An edit moves lines: then the functions are still the same. */
enum level { LINES, FUNCTIONS, LEVELS };

struct aligning {
    struct mt_overlay *o;
    uint64_t *lines[2][LEVELS]; /* of the first run and the other: by stack id, 0: no line */
    MT_VEC(struct reached) reached[2];
    MT_VEC(struct pair) pairs;
    MT_VEC(uint32_t) ends, before; /* of chains of pairs */
};

/* ---- lines of the program ---- */

static uint64_t hash_of(const struct mt_snapshot *s, uint32_t string, uint64_t seed)
{
    struct mt_str text = mt_str_basename(mt_snapshot_str(s, string));
    return mt_hash_bytes(text.p, text.n, seed);
}

/* The line, or the function, that a stack is called by. */
static uint64_t line_of(const struct mt_snapshot *s, uint32_t stack, enum level level)
{
    uint32_t id = mt_stack_telling_frame_id(s, stack);
    const struct mt_frame *f = &s->frames[id];
    if (!id || !mt_frame_is_python(s, f)) {
        return 0;
    }
    uint64_t function = hash_of(s, f->name, hash_of(s, f->filename, 1));
    return (level == LINES ? mt_hash_mix(function, (uint32_t)f->line) : function) | 1;
}

static bool find_lines(struct aligning *x, size_t which, const struct mt_replay *r)
{
    const struct mt_snapshot *s = r->snapshot;
    for (enum level k = LINES; k < LEVELS; k++) {
        mt_mem_free(x->lines[which][k]);
        uint64_t *of = x->lines[which][k] = mt_mem_zalloc(s->n_stacks + 1, sizeof *of);
        for (size_t i = 0; of && i < r->n; i++) {
            uint32_t stack = r->events[i].stack;
            if (mt_event_allocates(&r->events[i]) && stack && !of[stack]) {
                of[stack] = line_of(s, stack, k);
            }
        }
        if (!of) {
            return false;
        }
    }
    return true;
}

/* ---- pairs ---- */

static int by_line(const void *a, const void *b)
{
    const struct reached *x = a, *y = b;
    return x->line != y->line ? (x->line > y->line) - (x->line < y->line)
                              : (x->event > y->event) - (x->event < y->event);
}

static int by_event(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
                                : (x->other < y->other) - (x->other > y->other);
}

static bool find_reached(struct aligning *x, size_t which, enum level level,
                         const struct mt_overlay_run *run, size_t from, size_t to)
{
    bool ok = true;
    x->reached[which].n = 0;
    for (size_t i = from; i < to && ok; i++) {
        const struct mt_event *e = &run->replay->events[i];
        struct reached r = {mt_event_allocates(e) ? x->lines[which][level][e->stack] : 0,
                            (uint32_t)i};
        ok = !r.line || mt_vec_push(&x->reached[which], r);
    }
    if (ok && x->reached[which].n) {
        qsort(x->reached[which].v, x->reached[which].n, sizeof(struct reached), by_line);
    }
    return ok;
}

static size_t same_line(const struct reached *v, size_t n)
{
    size_t k = 0;
    while (k < n && v[k].line == v[0].line) {
        k++;
    }
    return k;
}

static bool pair_line(struct aligning *x, const struct reached *a, size_t n,
                      const struct reached *b, size_t m)
{
    bool ok = true;
    for (size_t i = 0; n == m && i < n && ok; i++) {
        ok = mt_vec_push(&x->pairs, ((struct pair){a[i].event, b[i].event}));
    }
    if (ok && n != m) {
        ok = mt_vec_push(&x->pairs, ((struct pair){a[0].event, b[0].event})) &&
             mt_vec_push(&x->pairs, ((struct pair){a[n - 1].event, b[m - 1].event}));
    }
    return ok;
}

static bool find_pairs(struct aligning *x)
{
    const struct reached *a = x->reached[0].v, *b = x->reached[1].v;
    size_t i = 0, k = 0;
    bool ok = true;
    while (i < x->reached[0].n && k < x->reached[1].n && ok) {
        size_t n = same_line(&a[i], x->reached[0].n - i), m = same_line(&b[k], x->reached[1].n - k);
        if (a[i].line == b[k].line) {
            ok = pair_line(x, &a[i], n, &b[k], m);
        }
        uint64_t line = a[i].line, other = b[k].line;
        i += line <= other ? n : 0;
        k += other <= line ? m : 0;
    }
    return ok;
}

/* ---- the longest chain ---- */

/* Of pairs in the order of the first run's events, the longest chain in which the other's rise too
 * (patience sorting): `ends` has the last pair of the best chain of each length. */
static bool keep_chain(struct aligning *x)
{
    const struct pair *v = x->pairs.v;
    x->ends.n = 0;
    if (!mt_vec_reserve(&x->ends, x->pairs.n) || !mt_vec_reserve(&x->before, x->pairs.n)) {
        return false;
    }
    for (size_t i = 0; i < x->pairs.n; i++) {
        size_t lo = 0, hi = x->ends.n;
        while (lo < hi) {
            size_t middle = lo + (hi - lo) / 2;
            bool below = v[x->ends.v[middle]].other < v[i].other;
            lo = below ? middle + 1 : lo;
            hi = below ? hi : middle;
        }
        x->before.v[i] = lo ? x->ends.v[lo - 1] : UINT32_MAX;
        x->ends.v[lo] = (uint32_t)i;
        x->ends.n += lo == x->ends.n;
    }
    uint32_t at = x->ends.n ? x->ends.v[x->ends.n - 1] : 0;
    for (size_t i = x->ends.n; i > 0; i--, at = x->before.v[at]) {
        x->ends.v[i - 1] = at;
    }
    return true;
}

/* ---- knots ---- */

static bool put_knot(struct mt_overlay_run *run, size_t event, double place)
{
    struct mt_overlay_knot knot = {event, place};
    return mt_vec_push(&run->knots, knot);
}

/* Where step k of a run ends. The last one may be cut off: then it is as long as its events are of
 * those of the one before. */
static bool put_step_end(const struct mt_overlay *o, struct mt_overlay_run *run, size_t k)
{
    const struct mt_periods *p = &run->periods;
    const uint32_t *v = p->bounds.v;
    size_t n = run->replay->n;
    if (k + 1 < p->bounds.n) {
        return put_knot(run, v[k + 1], o->lead + (double)k + 1);
    }
    const struct mt_overlay_knot *last = &run->knots.v[run->knots.n - 1];
    size_t usual = v[k] + (size_t)(k ? v[k] - v[k - 1] : 0), end = n > usual ? n : usual;
    double room = o->lead + (double)k + 1 - last->place;
    double length = (double)(end - last->event);
    return n <= last->event ||
           put_knot(run, n, last->place + room * (double)(n - last->event) / length);
}

static bool knots_of_first(struct mt_overlay *o, struct mt_overlay_run *run)
{
    const struct mt_periods *p = &run->periods;
    bool ok = p->bounds.v[0] == 0 || put_knot(run, 0, 0);
    ok = ok && put_knot(run, p->bounds.v[0], o->lead);
    for (size_t k = 0; k < p->bounds.n && ok; k++) {
        ok = put_step_end(o, run, k);
    }
    return ok;
}

/* Pairs within events of the first run and of the other one become knots of the other. */
static bool align_step(struct aligning *x, struct mt_overlay_run *run, size_t k)
{
    const struct mt_overlay_run *first = &x->o->runs[0];
    const struct mt_periods *p = &first->periods, *q = &run->periods;
    if (k >= p->bounds.n) {
        return true;
    }
    size_t first_to = k + 1 < p->bounds.n ? p->bounds.v[k + 1] : first->replay->n;
    size_t to = k + 1 < q->bounds.n ? q->bounds.v[k + 1] : run->replay->n;
    bool ok = true;
    x->pairs.n = 0;
    for (enum level level = LINES; level < LEVELS && ok; level++) {
        ok = find_reached(x, 0, level, first, p->bounds.v[k] + (size_t)1, first_to) &&
             find_reached(x, 1, level, run, q->bounds.v[k] + (size_t)1, to) && find_pairs(x);
    }
    if (!ok || !x->pairs.n) {
        return ok;
    }
    qsort(x->pairs.v, x->pairs.n, sizeof *x->pairs.v, by_event);
    ok = keep_chain(x);
    for (size_t i = 0; i < x->ends.n && ok; i++) {
        struct pair pair = x->pairs.v[x->ends.v[i]];
        ok = put_knot(run, pair.other, mt_overlay_step_place(first, pair.first));
    }
    return ok;
}

static bool knots_of_other(struct aligning *x, struct mt_overlay_run *run)
{
    const struct mt_periods *p = &run->periods;
    bool ok = p->bounds.v[0] == 0 || put_knot(run, 0, 0);
    ok = ok && put_knot(run, p->bounds.v[0], x->o->lead);
    for (size_t k = 0; k < p->bounds.n && ok; k++) {
        ok = align_step(x, run, k) && put_step_end(x->o, run, k);
    }
    return ok;
}

static bool align_runs(struct aligning *x)
{
    struct mt_overlay *o = x->o;
    bool ok = true;
    for (size_t i = 0; i < o->n && ok; i++) {
        struct mt_overlay_run *run = &o->runs[i];
        if (i && run->replay->n && o->runs[0].replay->n) {
            ok = find_lines(x, 0, o->runs[0].replay) && find_lines(x, 1, run->replay) &&
                 knots_of_other(x, run);
        } else if (run->replay->n) {
            ok = knots_of_first(o, run);
        }
    }
    return ok;
}

enum mt_status mt_overlay_align_steps(struct mt_overlay *o, struct mt_error *err)
{
    struct aligning x = {.o = o};
    bool ok = align_runs(&x);
    for (size_t i = 0; i < 2; i++) {
        for (enum level k = LINES; k < LEVELS; k++) {
            mt_mem_free(x.lines[i][k]);
        }
        mt_vec_release(&x.reached[i]);
    }
    mt_vec_release(&x.pairs);
    mt_vec_release(&x.ends);
    mt_vec_release(&x.before);
    return ok ? MT_OK : mt_fail_nomem(err);
}

double mt_overlay_step_place(const struct mt_overlay_run *run, size_t event)
{
    const struct mt_overlay_knot *v = run->knots.v;
    size_t lo = 0, hi = run->knots.n;
    while (hi - lo > 1) {
        size_t middle = lo + (hi - lo) / 2;
        *(v[middle].event <= event ? &lo : &hi) = middle;
    }
    if (lo + 1 >= run->knots.n) {
        return v[lo].place;
    }
    double part = (double)(event - v[lo].event) / (double)(v[lo + 1].event - v[lo].event);
    return v[lo].place + part * (v[lo + 1].place - v[lo].place);
}
