/* SPDX-License-Identifier: MIT */
/* The sum of the terms, for the pipeline stage that needs most, and the verdict. */
#include "verbs/estimate/cards.h"
#include "verbs/estimate/estimate.h"

#include <inttypes.h>
#include <stdio.h>

#include "support/checked.h"
#include "support/units.h"

#include "verbs/estimate/terms.h"

static const char *const term_names[] = {
#define X(id, name) name,
    MT_ESTIMATE_TERMS(X)
#undef X
};

const char *mt_estimate_term_name(enum mt_estimate_id id)
{
    return term_names[id];
}

const struct mt_estimate_term *mt_estimate_term(const struct mt_estimate *e, enum mt_estimate_id id)
{
    for (size_t i = 0; i < e->n; i++) {
        if (e->terms[i].id == id) {
            return &e->terms[i];
        }
    }
    return NULL;
}

bool mt_estimate_expected(const struct mt_estimate *e, enum mt_estimate_id id,
                          struct mt_range *expected)
{
    const struct mt_estimate_term *t = mt_estimate_term(e, id);
    const struct mt_estimate_term *logits = mt_estimate_term(e, MT_TERM_LOGITS);
    *expected = t ? t->bytes : (struct mt_range){0};
    if (t && logits && id == MT_TERM_ACTIVATIONS) {
        expected->middle += logits->bytes.middle;
        expected->high += logits->bytes.high;
    }
    return t != NULL;
}

void mt_estimate_options_init(struct mt_estimate_options *o)
{
    *o = (struct mt_estimate_options){
        .dtype = MT_BF16,
        .kv_dtype = MT_BF16,
        .ranks = 1,
        .tp = 1,
        .pp = 1,
        .ep = 1,
        .cp = 1,
        .page = 1,
        .workspace = 64 * MT_MIB,
        .context = MT_CARD_CONTEXT,
        .fragmentation = -1,
    };
}

/* ---- what terms are made with ---- */

uint64_t mt_times(struct mt_summing *x, uint64_t a, uint64_t b)
{
    uint64_t product = 0;
    x->failed |= mt_mul_overflow(a, b, &product);
    return product;
}

uint64_t mt_plus(struct mt_summing *x, uint64_t a, uint64_t b)
{
    uint64_t sum = 0;
    x->failed |= mt_add_overflow(a, b, &sum);
    return sum;
}

struct mt_estimate_term *mt_term_add(struct mt_summing *x, enum mt_estimate_id id,
                                     struct mt_range bytes)
{
    struct mt_estimate_term *t = &x->e->terms[x->e->n++];
    *t = (struct mt_estimate_term){.id = id, .bytes = bytes};
    return t;
}

/* Layers are divided evenly. The encoder of T5 and towers are counted by their own numbers. */
bool mt_layer_on_stage(const struct mt_summing *x, uint32_t layer, bool tower)
{
    uint64_t pp = x->o->pp, layers = x->m->layers;
    if (pp < 2 || !layers) {
        return true;
    }
    return tower ? x->stage == 0 : (uint64_t)layer * pp / layers == x->stage;
}

bool mt_on_stage(const struct mt_summing *x, const struct mt_part *p)
{
    bool first = x->stage == 0, last = x->stage == x->o->pp - 1;
    if (p->layer != MT_NO_LAYER) {
        return mt_layer_on_stage(x, p->layer, p->tower);
    }
    if (p->kind == MT_PART_TABLE) {
        return first || (last && x->m->tied && !p->tower); /* the output layer needs it too */
    }
    return p->tower ? first : last;
}

uint64_t mt_shares(const struct mt_summing *x, const struct mt_part *p)
{
    uint64_t tensor = p->split != MT_SPLIT_NONE ? x->o->tp : 1;
    return tensor * (p->expert ? x->o->ep : 1);
}

/* ---- terms that are the same for every model ---- */

static void add_workspace(struct mt_summing *x)
{
    uint64_t w = x->o->workspace;
    bool ranks = x->o->ranks * x->o->tp * x->o->pp > 1;
    struct mt_range r = {w / 8, w, mt_plus(x, mt_times(x, w, 2), ranks ? MT_GIB : 0)};
    struct mt_estimate_term *t = mt_term_add(x, MT_TERM_WORKSPACE, w ? r : mt_exactly(0));
    snprintf(t->formula, sizeof t->formula, "workspaces of cuBLAS (32 MiB on Hopper, 8 before)");
    snprintf(t->doubt, sizeof t->doubt, "%s",
             ranks ? "a guess; NCCL adds 0.1 to 1 GiB" : "a guess; depends on library and streams");
}

/* A share f of what the allocator reserves: x / (1 - f) - x. */
static uint64_t lost(uint64_t bytes, double f)
{
    double all = (double)bytes * f / (1 - f);
    return all < 1e18 ? (uint64_t)all : UINT64_MAX;
}

static struct mt_range sum_terms(struct mt_summing *x)
{
    struct mt_range sum = {0};
    for (size_t i = 0; i < x->e->n; i++) {
        const struct mt_range *b = &x->e->terms[i].bytes;
        sum.low = mt_plus(x, sum.low, b->low);
        sum.middle = mt_plus(x, sum.middle, b->middle);
        sum.high = mt_plus(x, sum.high, b->high);
    }
    return sum;
}

static void add_fragmentation(struct mt_summing *x)
{
    double f = x->o->fragmentation;
    struct mt_range sum = sum_terms(x);
    struct mt_range r = {0, x->unsplit, mt_plus(x, lost(sum.middle, 0.1), x->unsplit)};
    if (f >= 0) {
        r = (struct mt_range){lost(sum.low, f), lost(sum.middle, f), lost(sum.high, f)};
    }
    struct mt_estimate_term *t = mt_term_add(x, MT_TERM_FRAGMENTATION, r);
    if (f >= 0) {
        snprintf(t->formula, sizeof t->formula, "%.1f %% of reserved memory", 100 * f);
    } else {
        snprintf(t->formula, sizeof t->formula,
                 "0 to 10 %% of reserved memory, and what blocks of the states have to spare");
    }
    snprintf(t->doubt, sizeof t->doubt, "%s",
             x->o->fragmentation_from ? x->o->fragmentation_from
                                      : "not known before it runs; --fragmentation sets it, "
                                        "--against takes it from a snapshot");
}

static void add_context(struct mt_summing *x)
{
    uint64_t c = x->o->context;
    struct mt_estimate_term *t =
        mt_term_add(x, MT_TERM_CONTEXT, (struct mt_range){c / 8 * 5, c, c / 8 * 12});
    snprintf(t->formula, sizeof t->formula, "CUDA context");
    snprintf(t->doubt, sizeof t->doubt,
             "750 MiB on an H200 with CUDA 13; 0.5 to 1.2 GiB by driver and kernels loaded");
}

/* ---- all together ---- */

static uint64_t bytes_of(const struct mt_estimate *e, enum mt_estimate_id id)
{
    const struct mt_estimate_term *t = mt_estimate_term(e, id);
    return t ? t->bytes.middle : 0;
}

/*
 * The most that is alive at one time. The sum of all terms holds where gradients stay: buffers of a
 * framework, gradients that accumulate. Where zero_grad() frees them, they are not there while
 * activations are at their fullest, nor the latter in the optimizer's step: the least total.
 */
static void find_total(struct mt_summing *x)
{
    struct mt_estimate *e = x->e;
    e->total = sum_terms(x);
    uint64_t gradients = bytes_of(e, MT_TERM_GRADIENTS);
    if (x->o->inference || mt_gradients_stay(x->o)) {
        return;
    }
    const struct mt_estimate_term *a = mt_estimate_term(e, MT_TERM_ACTIVATIONS);
    const struct mt_estimate_term *l = mt_estimate_term(e, MT_TERM_LOGITS);
    uint64_t passing = (a ? a->bytes.low : 0) + (l ? l->bytes.low : 0);
    e->total.low -= gradients < passing ? gradients : passing;
}

static enum mt_status find_stage(struct mt_estimate *e, const struct mt_model *m,
                                 const struct mt_estimate_options *o, uint64_t stage,
                                 struct mt_error *err)
{
    struct mt_alloc_settings settings;
    struct mt_summing x = {.m = m, .o = o, .e = e, .stage = stage};
    *e = (struct mt_estimate){.stage = stage};
    mt_alloc_settings_default(&settings);
    x.rules = mt_torch_rules_of(&settings, 0);
    mt_add_states(&x);
    mt_add_activations(&x);
    if (o->inference) {
        mt_add_cache(&x);
    }
    add_workspace(&x);
    add_fragmentation(&x);
    add_context(&x);
    find_total(&x);
    for (size_t i = 1; i < e->n; i++) {
        e->largest = e->terms[i].bytes.middle > e->terms[e->largest].bytes.middle ? i : e->largest;
    }
    return x.failed ? mt_fail(err, MT_LIMIT, MT_NO_OFFSET, "the total does not fit 64 bits")
                    : MT_OK;
}

enum mt_status mt_estimate_find(struct mt_estimate *e, const struct mt_model *m,
                                const struct mt_estimate_options *o, struct mt_error *err)
{
    MT_TRY(find_stage(e, m, o, 0, err));
    for (uint64_t s = 1; s < o->pp; s++) {
        struct mt_estimate other;
        MT_TRY(find_stage(&other, m, o, s, err));
        *e = other.total.middle > e->total.middle ? other : *e;
    }
    return MT_OK;
}

enum mt_verdict mt_estimate_verdict(const struct mt_range *total, uint64_t card)
{
    return total->high <= card ? MT_VERDICT_FITS
           : total->low > card ? MT_VERDICT_NOT
                               : MT_VERDICT_TIGHT;
}

const char *mt_verdict_name(enum mt_verdict v)
{
    static const char *const names[] = {"fits", "tight", "does not fit"};
    return names[v];
}
