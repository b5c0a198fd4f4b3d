/* SPDX-License-Identifier: MIT */
/*
 * Finding what repeats from the order of allocations alone.
 *
 * In a loop each line of code allocates the same number of times a round, so the numbers of
 * allocations per stack are multiples of the number of rounds. An anchor is a stack that comes at
 * even distances over at least half of the trace; of all anchors the one wins whose count explains
 * (as a divisor) the most allocations, and among near equals the highest count, since every divisor
 * of the right count explains as much as it does. The anchor's occurrences are the bounds. Sizes
 * play no part, because inputs change in length; only where stacks say nothing (fewer than three
 * different ones) a stack together with its size is the sign.
 *
 * Which loop it is this cannot tell: in one pass of a model it finds the layers.
 */
#include <stdlib.h>

#include "support/hash.h"
#include "support/mem.h"

#include "heap/findings/period_ways.h"

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Where each sign (stack, or stack and size) was allocated: at[first[t]] .. at[first[t + 1] - 1].
 */
struct signs {
    const struct mt_event *events; /* of the range, n_events of them */
    size_t n_events;
    uint32_t *of; /* sign of each event, UINT32_MAX where it is no alloc */
    uint32_t n;
    uint32_t *first;
    uint32_t *at;
    uint32_t *gaps; /* scratch */
    uint32_t *same; /* how many signs come exactly so often */
    size_t allocs;
};

static void signs_release(struct signs *x)
{
    mt_mem_free(x->of);
    mt_mem_free(x->first);
    mt_mem_free(x->at);
    mt_mem_free(x->gaps);
    mt_mem_free(x->same);
    *x = (struct signs){0};
}

/* Loops over parameters are no loops of the program. */
static bool counts(const struct mt_stack_roles *roles, const struct mt_event *e)
{
    enum mt_role role = (enum mt_role)roles->of[e->stack].role;
    return mt_event_allocates(e) && role != MT_ROLE_OPTIMIZER && role != MT_ROLE_SETUP;
}

static bool number_signs(struct signs *x, const struct mt_stack_roles *roles, bool with_size)
{
    struct mt_idmap ids = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < x->n_events; i++) {
        const struct mt_event *e = &x->events[i];
        x->of[i] = UINT32_MAX;
        if (!counts(roles, e)) {
            continue;
        }
        uint64_t key = mt_hash_mix(e->stack, with_size ? e->size : 0);
        const uint32_t *found = mt_idmap_find(&ids, key);
        x->of[i] = found ? *found : x->n;
        x->allocs++;
        if (!found) {
            ok = mt_idmap_put(&ids, key, x->n++);
        }
    }
    mt_idmap_release(&ids);
    return ok;
}

static bool signs_init(struct signs *x, const struct mt_stack_roles *roles, bool with_size)
{
    x->of = mt_mem_alloc(x->n_events, sizeof *x->of);
    if (!x->of || !number_signs(x, roles, with_size)) {
        return false;
    }
    x->first = mt_mem_zalloc((size_t)x->n + 2, sizeof *x->first);
    x->at = mt_mem_alloc(x->allocs, sizeof *x->at);
    x->gaps = mt_mem_alloc(x->allocs, sizeof *x->gaps);
    x->same = mt_mem_zalloc(x->allocs + 1, sizeof *x->same);
    if (!x->first || !x->at || !x->gaps || !x->same) {
        return false;
    }
    /* A counting sort: first[t + 2] counts, then first[t + 1] runs along as the next free place. */
    for (size_t i = 0; i < x->n_events; i++) {
        if (x->of[i] != UINT32_MAX && x->of[i] + 2 < x->n + 2) {
            x->first[x->of[i] + 2]++;
        }
    }
    for (uint32_t t = 2; t < x->n + 2; t++) {
        x->first[t] += x->first[t - 1];
    }
    for (size_t i = 0; i < x->n_events; i++) {
        if (x->of[i] != UINT32_MAX) {
            x->at[x->first[x->of[i] + 1]++] = (uint32_t)i;
        }
    }
    for (uint32_t t = 0; t < x->n; t++) {
        x->same[x->first[t + 1] - x->first[t]]++;
    }
    return true;
}

/* Two whole periods: too few for a verdict, but they tell that the trace is too short. */
enum { FEWEST = 3 };

/* Below this share an anchor marks a loop inside of a step, such as that over the parameters. */
static const double LEAST_SHARE = 0.5;

/* Comes often enough, over half of the trace, and nine in ten distances are within three times of
 * each other: bursts inside a step and rare events fail here. */
static bool is_anchor(const struct signs *x, uint32_t t)
{
    const uint32_t *at = &x->at[x->first[t]];
    size_t n = x->first[t + 1] - x->first[t];
    if (n < FEWEST || at[n - 1] - at[0] < x->n_events / 2) {
        return false;
    }
    for (size_t i = 0; i + 1 < n; i++) {
        x->gaps[i] = at[i + 1] - at[i];
    }
    qsort(x->gaps, n - 1, sizeof *x->gaps, compare_u32);
    uint64_t low = x->gaps[(n - 1) / 10];
    uint64_t high = x->gaps[(n - 1) * 9 / 10];
    return high <= 3 * low;
}

/* Share of allocations whose sign comes a multiple of `steps` times; one off a step is allowed, for
 * the parts of a step at both ends of the trace. */
static double explained(const struct signs *x, size_t steps)
{
    uint64_t sum = 0;
    for (size_t count = steps > 1 ? steps - 1 : 1; count <= x->allocs; count++) {
        if (!x->same[count]) {
            continue;
        }
        size_t times = (count + steps / 2) / steps;
        size_t off = count > times * steps ? count - times * steps : times * steps - count;
        sum += off <= times ? count * (uint64_t)x->same[count] : 0;
    }
    return (double)sum / (double)x->allocs;
}

struct anchor {
    double share;
    size_t count;
    uint32_t sign;
};

/* One anchor a count, the earliest in the trace. */
struct anchors {
    MT_VEC(struct anchor) list;
};

static bool add_anchor(struct anchors *a, const struct signs *x, uint32_t t)
{
    size_t count = x->first[t + 1] - x->first[t];
    for (size_t i = 0; i < a->list.n; i++) {
        struct anchor *old = &a->list.v[i];
        if (old->count == count) {
            if (x->at[x->first[t]] < x->at[x->first[old->sign]]) {
                old->sign = t;
            }
            return true;
        }
    }
    struct anchor fresh = {explained(x, count), count, t};
    return mt_vec_push(&a->list, fresh);
}

/* Of the anchors that come at least `least` times; near equals are within a fifth of the best
 * share.
 */
static const struct anchor *best_anchor(const struct anchors *a, size_t least)
{
    double most = LEAST_SHARE / 0.8;
    for (size_t i = 0; i < a->list.n; i++) {
        const struct anchor *x = &a->list.v[i];
        most = x->count >= least && x->share > most ? x->share : most;
    }
    const struct anchor *best = NULL;
    for (size_t i = 0; i < a->list.n; i++) {
        const struct anchor *x = &a->list.v[i];
        if (x->count >= least && x->share >= 0.8 * most && (!best || x->count > best->count)) {
            best = x;
        }
    }
    return best;
}

enum mt_status mt_period_by_order(struct mt_periods *p, const struct mt_stack_roles *roles,
                                  size_t from, size_t to, bool with_size, struct mt_error *err)
{
    struct signs x = {.events = roles->replay->events + from, .n_events = to - from};
    struct anchors anchors = {0};
    bool ok = to <= from || signs_init(&x, roles, with_size);
    bool enough = ok && (with_size || x.n >= 3);
    for (uint32_t t = 0; ok && enough && t < x.n; t++) {
        ok = !is_anchor(&x, t) || add_anchor(&anchors, &x, t);
    }
    /* Few occurrences explain nearly any count, so they are asked only when nothing else speaks. */
    const struct anchor *best = ok ? best_anchor(&anchors, MT_PERIODS_NEEDED + 1) : NULL;
    if (ok && !best && !with_size) {
        best = best_anchor(&anchors, FEWEST);
    }
    if (best) {
        p->source = MT_PERIOD_DETECTED;
        p->stack = x.events[x.at[x.first[best->sign]]].stack;
        for (uint32_t i = x.first[best->sign]; ok && i < x.first[best->sign + 1]; i++) {
            ok = mt_periods_add(p, from + x.at[i]);
        }
    }
    mt_vec_release(&anchors.list);
    signs_release(&x);
    return ok ? MT_OK : mt_fail_nomem(err);
}
