/* SPDX-License-Identifier: MIT */
/* What serving keeps of each sequence: keys and values, latent vectors, states of constant size. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/checked.h"

#include "verbs/estimate/terms.h"

/* Tokens of a sequence that a layer holds. A window lies across one page more than it fills. */
static uint64_t held(const struct mt_cache *c, uint64_t sequence, uint64_t page)
{
    uint64_t whole = mt_divide_up(sequence, page), windows = mt_divide_up(c->window, page);
    windows += page > 1;
    uint64_t pages = c->window && windows < whole ? windows : whole;
    return pages * page;
}

/* Elements of one layer of one sequence on this device. */
static uint64_t elements(const struct mt_cache *c, const struct mt_estimate_options *o,
                         uint64_t sequence)
{
    uint64_t n, heads = mt_divide_up(c->heads, o->tp);
    bool failed = mt_mul_overflow(heads, c->per_head, &n);
    failed |= !c->state && mt_mul_overflow(n, held(c, sequence, o->page), &n);
    return failed ? UINT64_MAX : n;
}

static bool on_stage(const struct mt_model *m, const struct mt_estimate_options *o, uint64_t stage,
                     uint32_t layer)
{
    return o->pp < 2 || !m->layers || (uint64_t)layer * o->pp / m->layers == stage;
}

static uint64_t cache_bytes(const struct mt_model *m, const struct mt_estimate_options *o,
                            uint64_t stage, uint64_t sequence, bool state)
{
    uint64_t sum = 0;
    unsigned narrow = mt_dtype_bits(state ? o->dtype : o->kv_dtype);
    for (size_t i = 0; i < m->caches.n; i++) {
        const struct mt_cache *c = &m->caches.v[i];
        if (c->state != state || !on_stage(m, o, stage, c->layer)) {
            continue;
        }
        uint64_t n = elements(c, o, sequence), bits;
        if (mt_mul_overflow(n, c->fp32 ? 32 : narrow, &bits)) {
            return UINT64_MAX;
        }
        sum = mt_add_sat(sum, bits / 8);
    }
    return sum;
}

/* How many layers keep what: "28 layers whole, 4 a window". */
static void say_layers(struct mt_estimate_term *t, const struct mt_summing *x, uint64_t growth)
{
    uint64_t whole = 0, windows = 0, widest = 0;
    for (size_t i = 0; i < x->m->caches.n; i++) {
        const struct mt_cache *c = &x->m->caches.v[i];
        whole += !c->state && !c->window;
        windows += !c->state && c->window;
        widest = c->window > widest ? c->window : widest;
    }
    int n = snprintf(t->formula, sizeof t->formula, "%" PRIu64 " layers whole", whole);
    if (windows && n > 0) {
        n += snprintf(t->formula + n, sizeof t->formula - (size_t)n,
                      ", %" PRIu64 " of %" PRIu64 " tokens at most", windows, widest);
    }
    snprintf(t->formula + n, sizeof t->formula - (size_t)n,
             ": %s B per token (%s) x sequence %" PRIu64 " x batch %" PRIu64,
             mt_count_text(growth).s, mt_dtype_name(x->o->kv_dtype), x->o->sequence, x->o->batch);
}

void mt_add_cache(struct mt_summing *x)
{
    const struct mt_estimate_options *o = x->o;
    const struct mt_model *m = x->m;
    if (!o->batch || !o->sequence || !m->caches.n) {
        return;
    }
    uint64_t one = cache_bytes(m, o, x->stage, o->sequence, false);
    uint64_t states = cache_bytes(m, o, x->stage, 0, true);
    if (one) {
        uint64_t far = (uint64_t)1 << 40;
        uint64_t growth = (cache_bytes(m, o, x->stage, far + o->page, false) -
                           cache_bytes(m, o, x->stage, far, false)) /
                          o->page;
        struct mt_estimate_term *t =
            mt_term_add(x, MT_TERM_KV_CACHE, mt_exactly(mt_times(x, one, o->batch)));
        say_layers(t, x, growth);
        snprintf(t->doubt, sizeof t->doubt,
                 "each sequence at its full length; engines take what is left of the card instead");
    }
    if (states) {
        struct mt_estimate_term *t =
            mt_term_add(x, MT_TERM_STATE, mt_exactly(mt_times(x, states, o->batch)));
        snprintf(t->formula, sizeof t->formula,
                 "%s B a sequence, whatever its length, x batch %" PRIu64, mt_count_text(states).s,
                 o->batch);
    }
}
