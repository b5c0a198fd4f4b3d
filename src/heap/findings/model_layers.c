/* SPDX-License-Identifier: MIT */
/*
 * Layers are what repeats inside of a pass. What a layer costs is what it leaves alive for the
 * backward pass, so allocations count that are alive when that begins.
 */
#include "heap/findings/model_layers.h"

#include <stdlib.h>

#include "support/hash.h"
#include "support/mem.h"

#include "heap/findings/counting.h"
#include "heap/findings/period_ways.h"

enum { FEWEST_LAYERS = 3 };

struct look {
    const struct mt_replay *r;
    const struct mt_categories *c;
    struct mt_pass pass;
    size_t until;
    const struct mt_periods *cuts; /* where layers begin */
    struct mt_layers *out;
    struct mt_idmap rows; /* stack -> index of out->parts */
};

static bool stays(const struct look *x, size_t i)
{
    return mt_event_allocates(&x->r->events[i]) && x->r->partner[i] >= x->until &&
           x->c->events[i] != MT_CATEGORY_WORKSPACE;
}

static uint64_t left_alive(const struct look *x, size_t from, size_t to)
{
    uint64_t bytes = 0;
    for (size_t i = from; i < to; i++) {
        bytes += stays(x, i) ? x->r->events[i].size : 0;
    }
    return bytes;
}

static int compare_parts(const void *a, const void *b)
{
    const struct mt_layer_part *x = a;
    const struct mt_layer_part *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? 1 : -1;
    }
    return (x->stack > y->stack) - (x->stack < y->stack);
}

static bool add_part(struct look *x, const struct mt_event *e)
{
    const uint32_t *found = mt_idmap_find(&x->rows, e->stack);
    struct mt_layer_part fresh = {.stack = e->stack};
    if (!found && (!mt_idmap_put(&x->rows, e->stack, (uint32_t)x->out->parts.n) ||
                   !mt_vec_push(&x->out->parts, fresh))) {
        return false;
    }
    struct mt_layer_part *p = &x->out->parts.v[found ? *found : x->out->parts.n - 1];
    p->bytes += e->size;
    p->count++;
    return true;
}

/* Between the first and the last cut lie count - 1 whole layers. */
static bool find_parts(struct look *x)
{
    const struct mt_periods *cuts = x->cuts;
    size_t whole = cuts->bounds.n - 1;
    for (size_t i = cuts->bounds.v[0]; i < cuts->bounds.v[whole]; i++) {
        if (stays(x, i) && !add_part(x, &x->r->events[i])) {
            return false;
        }
    }
    for (size_t k = 0; k < x->out->parts.n; k++) {
        struct mt_layer_part *p = &x->out->parts.v[k];
        p->bytes /= whole;
        p->count = (p->count + whole / 2) / whole;
    }
    if (x->out->parts.n) {
        qsort(x->out->parts.v, x->out->parts.n, sizeof *x->out->parts.v, compare_parts);
    }
    return true;
}

/* Whether three in four keep the same but for a twentieth: else "a layer" has no size. */
static bool are_alike(const uint64_t *each, size_t n, uint64_t middle)
{
    size_t alike = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t off = each[i] > middle ? each[i] - middle : middle - each[i];
        alike += off <= middle / 20;
    }
    return alike * 4 >= n * 3;
}

static bool measure(struct look *x)
{
    const struct mt_periods *cuts = x->cuts;
    size_t whole = cuts->bounds.n - 1;
    uint64_t *each = mt_mem_alloc(whole, sizeof *each);
    if (!each) {
        return false;
    }
    for (size_t k = 0; k < whole; k++) {
        each[k] = left_alive(x, cuts->bounds.v[k], cuts->bounds.v[k + 1]);
    }
    qsort(each, whole, sizeof *each, mt_compare_u64);
    struct mt_layers *out = x->out;
    bool alike = each[whole / 2] && are_alike(each, whole, each[whole / 2]);
    out->bytes = each[whole / 2];
    mt_mem_free(each);
    if (!alike) {
        *out = (struct mt_layers){0};
        return true;
    }
    out->count = cuts->bounds.n;
    out->stack = cuts->stack;
    /* The last layer ends where the others would: what is more than a layer lies behind it. */
    uint64_t tail = left_alive(x, cuts->bounds.v[whole], x->until);
    out->before = left_alive(x, x->pass.begin, cuts->bounds.v[0]);
    out->after = tail > out->bytes ? tail - out->bytes : 0;
    return find_parts(x);
}

enum mt_status mt_layers_find(struct mt_layers *out, const struct mt_stack_roles *roles,
                              const struct mt_categories *c, struct mt_pass pass, size_t until,
                              struct mt_error *err)
{
    /* Within one pass sizes do not change; a line that allocates twice is told apart by them. */
    struct mt_periods cuts = {0};
    *out = (struct mt_layers){0};
    enum mt_status status = mt_period_by_order(&cuts, roles, pass.begin, pass.end, true, err);
    if (status == MT_OK && cuts.bounds.n < FEWEST_LAYERS) {
        mt_periods_release(&cuts);
        status = mt_period_by_order(&cuts, roles, pass.begin, pass.end, false, err);
    }
    if (status == MT_OK && cuts.bounds.n >= FEWEST_LAYERS) {
        struct look x = {
            .r = roles->replay, .c = c, .pass = pass, .until = until, .cuts = &cuts, .out = out};
        status = measure(&x) ? MT_OK : mt_fail_nomem(err);
        mt_idmap_release(&x.rows);
    }
    mt_periods_release(&cuts);
    return status;
}

/* ---- its weights ---- */

/* Where a size comes so often that it is once a layer more, it is of a layer: the sum over those.
 * Of gradients there are at most as many as parameters; more is scratch whose end the trace does
 * not hold. */
struct weight {
    struct mt_idmap sizes;
    const struct weight *most; /* of what there are so many, `times` as often; NULL: of all */
    uint32_t times;
    uint64_t layers, bytes;
};

static bool add_weight(struct weight *w, uint64_t size)
{
    const uint32_t *have = mt_idmap_find(&w->sizes, size);
    const uint32_t *may = w->most ? mt_idmap_find(&w->most->sizes, size) : NULL;
    if (w->most && (!may || *may < w->layers || (have && *have >= w->times * *may))) {
        return true;
    }
    if (!mt_count_key(&w->sizes, size)) {
        return false;
    }
    w->bytes += *mt_idmap_find(&w->sizes, size) % w->layers == 0 ? size : 0;
    return true;
}

/* A place in the trace: what is alive after the event, or allocated in [from, to). */
struct place {
    size_t event, from, to;
};

static bool weigh(struct weight *w, const struct mt_categories *c, enum mt_category of,
                  const struct place *at)
{
    const struct mt_replay *r = c->replay;
    bool ok = true;
    for (size_t i = 0; ok && i < r->n; i++) {
        bool alive = i <= at->event && r->partner[i] > at->event;
        bool counts = (alive || (i >= at->from && i < at->to)) &&
                      mt_event_allocates(&r->events[i]) && c->events[i] == of;
        ok = !counts || add_weight(w, r->events[i].size);
    }
    for (size_t i = 0; ok && i < r->ghosts.n; i++) {
        const struct mt_ghost *g = &r->ghosts.v[i];
        bool alive = g->freed == MT_NEVER || g->freed > at->event;
        bool counts = alive && mt_category_of_ghost(c, g) == of;
        ok = !counts || add_weight(w, g->size);
    }
    return ok;
}

bool mt_layers_weigh(struct mt_layers *out, const struct mt_categories *c, size_t event,
                     size_t from, size_t to)
{
    const struct place at = {event, from, to};
    struct weight weights = {.layers = out->count}, state = weights, gradients = weights;
    gradients.most = state.most = &weights;
    gradients.times = 1;
    state.times = 3; /* two moments, and a copy in higher precision */
    bool ok = !out->count || (weigh(&weights, c, MT_CATEGORY_PARAMETER, &at) &&
                              weigh(&gradients, c, MT_CATEGORY_GRADIENT, &at) &&
                              weigh(&state, c, MT_CATEGORY_OPTIMIZER_STATE, &at));
    out->weights = weights.bytes;
    out->gradients = gradients.bytes;
    out->state = state.bytes;
    mt_idmap_release(&weights.sizes);
    mt_idmap_release(&gradients.sizes);
    mt_idmap_release(&state.sizes);
    return ok;
}
