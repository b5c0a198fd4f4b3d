/* SPDX-License-Identifier: MIT */
/*
 * PyTorch records segment_alloc behind cudaMalloc and segment_free before cudaFree: a call's time
 * lies between such an event and the one before it, or the one behind. What the program does by
 * itself lies there too, so the median counts, less that of allocations that the cache serves.
 */
#include "heap/findings/driver_price.h"

#include <stdlib.h>

#include "heap/stacks/frames.h"
#include "snapshot/model/settings.h"
#include "support/checked.h"
#include "support/hash.h"
#include "support/mem.h"

enum { CALL_US = 65 /* cudaMalloc or cudaFree, measured on an H200 with PyTorch 2.11 */ };

struct gaps {
    int64_t *v; /* as MT_VEC */
    size_t n, cap;
};

struct gather {
    struct mt_driver_price *out;
    const struct mt_replay *r;
    size_t to;
    struct mt_idmap callers; /* stack -> index */
    struct mt_idmap given;   /* size -> segments that empty_cache gave back */
    struct mt_idmap emptied; /* stack -> of those */
    struct gaps calls, served;
};

static enum mt_step_kind kind_at(const struct gather *g, size_t i)
{
    return i < g->to ? mt_event_kind(&g->r->events[i]) : MT_STEP_OTHER;
}

static bool count(struct mt_idmap *map, uint64_t key)
{
    uint32_t *n = mt_idmap_find(map, key);
    if (n) {
        ++*n;
        return true;
    }
    return mt_idmap_put(map, key, 1);
}

/* ---- who ---- */

static bool add_call(struct gather *g, const struct mt_event *e)
{
    uint32_t *at = mt_idmap_find(&g->callers, e->stack);
    if (!at) {
        struct mt_driver_caller fresh = {.stack = e->stack};
        uint32_t index = (uint32_t)g->out->callers.n;
        if (!mt_vec_push(&g->out->callers, fresh) || !mt_idmap_put(&g->callers, e->stack, index)) {
            return false;
        }
        at = mt_idmap_find(&g->callers, e->stack);
    }
    g->out->callers.v[*at].calls++;
    g->out->callers.v[*at].bytes += e->size;
    return true;
}

/* ---- emptying the cache ---- */

/* A burst of releases: its stack may name empty_cache. Else one that ends in another call to the
 * driver, or in a refusal, made room for a request. */
static bool is_empty_cache(const struct gather *g, size_t i)
{
    if (mt_stack_empties_cache(g->r->snapshot, g->r->events[i].stack)) {
        return true;
    }
    while (kind_at(g, i) == MT_STEP_RELEASE) {
        i++;
    }
    return i < g->to && kind_at(g, i) != MT_STEP_RESERVE && g->r->events[i].action != MT_ACTION_OOM;
}

static bool look_at_release(struct gather *g, size_t i, bool first)
{
    const struct mt_event *e = &g->r->events[i];
    g->out->given++;
    g->out->given_bytes += e->size;
    if (!is_empty_cache(g, i)) {
        g->out->retries += first;
        return true;
    }
    g->out->emptied += first;
    g->out->emptied_segments++;
    return count(&g->given, e->size) && count(&g->emptied, e->stack);
}

static void look_at_reserve(struct gather *g, const struct mt_event *e)
{
    uint32_t *n = mt_idmap_find(&g->given, e->size);
    g->out->taken++;
    g->out->taken_bytes += e->size;
    if (n && *n) {
        --*n;
        g->out->regained++;
        g->out->regained_bytes += e->size;
    }
}

/* ---- time ---- */

static bool add_gap(struct gaps *to, const struct mt_replay *r, size_t before, size_t after)
{
    int64_t from = r->events[before].time_us, until = r->events[after].time_us;
    bool timed = from != MT_NO_TIME && until != MT_NO_TIME && until >= from;
    return !timed || mt_vec_push(to, mt_time_between(from, until));
}

static bool look_at_time(struct gather *g, size_t i, size_t from)
{
    enum mt_step_kind kind = kind_at(g, i), before = i > from ? kind_at(g, i - 1) : MT_STEP_RESERVE;
    switch (kind) {
    case MT_STEP_RESERVE:
        return before == MT_STEP_RESERVE || before == MT_STEP_RELEASE ||
               add_gap(&g->calls, g->r, i - 1, i);
    case MT_STEP_RELEASE: return i + 1 >= g->to || add_gap(&g->calls, g->r, i, i + 1);
    case MT_STEP_ALLOC:
        return before == MT_STEP_RESERVE || before == MT_STEP_RELEASE ||
               add_gap(&g->served, g->r, i - 1, i);
    default: return true;
    }
}

static int compare_gaps(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median(struct gaps *x)
{
    if (!x->n) {
        return 0;
    }
    qsort(x->v, x->n, sizeof *x->v, compare_gaps);
    return x->v[x->n / 2];
}

static void find_cost(struct gather *g)
{
    enum { FEWEST = 8 };
    int64_t cost = median(&g->calls) - median(&g->served);
    g->out->measured = g->calls.n >= FEWEST && g->served.n >= FEWEST && cost > 0;
    g->out->call_us = g->out->measured ? (uint64_t)cost : CALL_US;
}

/* ---- all ---- */

static bool look(struct gather *g, size_t from)
{
    bool ok = true;
    for (size_t i = from; ok && i < g->to; i++) {
        const struct mt_event *e = &g->r->events[i];
        enum mt_step_kind kind = mt_event_kind(e);
        if (kind == MT_STEP_RESERVE) {
            look_at_reserve(g, e);
            ok = add_call(g, e);
        } else if (kind == MT_STEP_RELEASE) {
            bool first = i == from || kind_at(g, i - 1) != MT_STEP_RELEASE;
            ok = look_at_release(g, i, first) && add_call(g, e);
        }
        ok = ok && look_at_time(g, i, from);
    }
    return ok;
}

static int compare_callers(const void *a, const void *b)
{
    const struct mt_driver_caller *x = a, *y = b;
    if (x->calls != y->calls) {
        return x->calls < y->calls ? 1 : -1;
    }
    return (x->stack > y->stack) - (x->stack < y->stack);
}

/* The stack that gave most back, of equals the first. */
static void find_emptier(struct gather *g)
{
    uint32_t most = 0;
    for (size_t i = 0; i < g->out->callers.n; i++) {
        uint32_t stack = g->out->callers.v[i].stack;
        const uint32_t *n = mt_idmap_find(&g->emptied, stack);
        bool named = stack && mt_stack_empties_cache(g->r->snapshot, stack);
        if (n && named && *n > most) {
            most = *n;
            g->out->emptied_stack = stack;
        }
    }
}

enum mt_status mt_driver_price_find(struct mt_driver_price *out, const struct mt_replay *r,
                                    size_t from, size_t to, struct mt_error *err)
{
    *out = (struct mt_driver_price){0};
    struct gather g = {.out = out, .r = r, .to = to};
    bool ok = look(&g, from);
    if (ok) {
        find_cost(&g);
        find_emptier(&g);
        out->knows_retries =
            mt_settings_rules(r->snapshot).settings.garbage_collection_threshold == 0;
    }
    if (ok && out->callers.n) {
        qsort(out->callers.v, out->callers.n, sizeof *out->callers.v, compare_callers);
    }
    mt_idmap_release(&g.callers);
    mt_idmap_release(&g.given);
    mt_idmap_release(&g.emptied);
    mt_vec_release(&g.calls);
    mt_vec_release(&g.served);
    return ok ? MT_OK : mt_fail_nomem(err);
}

void mt_driver_price_release(struct mt_driver_price *x)
{
    mt_vec_release(&x->callers);
    *x = (struct mt_driver_price){0};
}

uint64_t mt_driver_price_us(const struct mt_driver_price *x, uint64_t calls)
{
    return calls * x->call_us;
}

bool mt_driver_price_in_loop(const struct mt_driver_price *x)
{
    return x->regained >= MT_FEW_REGAINED;
}
