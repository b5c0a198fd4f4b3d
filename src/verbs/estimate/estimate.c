/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of model memory. Each term is a function that writes its bytes, its formula with
 * the numbers in it, and its doubt; the total adds them up. Bytes of one device.
 *
 * Activations: no formula is exact. The figure given is the rule of thumb 12 x batch x sequence x
 * hidden elements a layer; beside it stand the account of Korthikanti et al. 2022 (Reducing
 * Activation Recomputation in Large Transformer Models: s b h (34 + 5 a s / h) bytes a layer in
 * half precision, 34 s b h with the attention matrix recomputed) and the least possible, one tensor
 * a layer.
 */
#include "verbs/estimate/estimate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/checked.h"
#include "support/units.h"

static const char *const term_names[] = {
#define X(id, name) name,
    MT_ESTIMATE_TERMS(X)
#undef X
};

static const struct {
    const char *name;
    unsigned bits;
} dtypes[] = {[MT_FP32] = {"fp32", 32}, [MT_BF16] = {"bf16", 16}, [MT_FP16] = {"fp16", 16},
              [MT_FP8] = {"fp8", 8},    [MT_INT8] = {"int8", 8},  [MT_INT4] = {"int4", 4}};

static const struct {
    const char *name;
    unsigned bytes; /* of its moments, a parameter */
} optimizers[] = {
    [MT_OPTIMIZER_ADAM] = {"adam", 8},
    [MT_OPTIMIZER_ADAM8BIT] = {"adam8bit", 2},
    [MT_OPTIMIZER_ADAFACTOR] = {"adafactor", 0},
    [MT_OPTIMIZER_MOMENTUM] = {"momentum", 4},
    [MT_OPTIMIZER_SGD] = {"sgd", 0},
};

const char *mt_estimate_term_name(enum mt_estimate_id id)
{
    return term_names[id];
}

unsigned mt_dtype_bits(enum mt_dtype d)
{
    return dtypes[d].bits;
}

void mt_estimate_options_init(struct mt_estimate_options *o)
{
    *o = (struct mt_estimate_options){
        .dtype = MT_BF16,
        .grad_dtype = MT_BF16,
        .kv_dtype = MT_BF16,
        .ranks = 1,
        .workspace = 128 * MT_MIB,
        .context = 768 * MT_MIB,
    };
}

/* ---- products that may not fit: `failed` sticks ---- */

struct product {
    uint64_t n;
    bool failed;
};

static struct product times(struct product p, uint64_t by)
{
    p.failed |= mt_mul_overflow(p.n, by, &p.n);
    return p;
}

static struct product plus(struct product a, struct product b)
{
    a.failed |= b.failed | mt_add_overflow(a.n, b.n, &a.n);
    return a;
}

static struct product number(uint64_t n)
{
    return (struct product){n, false};
}

static struct product product4(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return times(times(times(number(a), b), c), d);
}

/* ---- parameters of a transformer ---- */

/* One layer: query, key, value and output projections, the MLP or MLPs, two norms, biases. */
static struct product layer_params(const struct mt_model_shape *m)
{
    uint64_t queries = m->heads * m->head_dim, keys = m->kv_heads * m->head_dim;
    uint64_t mlps = m->experts ? m->experts : 1, matrices = m->gated ? 3 : 2;
    struct product p = product4(m->hidden, queries, 2, 1);
    p = plus(p, product4(m->hidden, keys, 2, 1));
    p = plus(p, product4(m->hidden, m->intermediate, matrices, mlps));
    p = plus(p, product4(m->hidden, m->experts, 1, 1)); /* the router */
    p = plus(p, product4(m->hidden, m->biased ? 4 : 2, 1, 1));
    if (m->biased) {
        p = plus(p, number(queries + 2 * keys + m->hidden));
        p = plus(p, product4(m->intermediate + m->hidden, mlps, 1, 1));
    }
    return p;
}

static struct product model_params(const struct mt_model_shape *m)
{
    struct product p = times(layer_params(m), m->layers);
    p = plus(p, product4(m->vocab, m->hidden, m->tied ? 1 : 2, 1));
    p = plus(p, product4(m->positions, m->hidden, 1, 1));
    return plus(p, number(m->biased ? 2 * m->hidden : m->hidden));
}

bool mt_model_shape_complete(struct mt_model_shape *m)
{
    static const uint64_t sane = UINT64_C(1) << 31;
    const uint64_t *const all[] = {&m->layers,   &m->hidden,    &m->heads,
                                   &m->kv_heads, &m->head_dim,  &m->intermediate,
                                   &m->vocab,    &m->positions, &m->experts};
    for (size_t i = 0; i < MT_COUNT(all); i++) {
        if (*all[i] > sane) {
            return false;
        }
    }
    m->kv_heads = m->kv_heads ? m->kv_heads : m->heads;
    m->head_dim = m->head_dim || !m->heads ? m->head_dim : m->hidden / m->heads;
    m->intermediate = m->intermediate ? m->intermediate : 4 * m->hidden;
    if (m->params == 0 && m->layers && m->hidden && m->heads) {
        struct product p = model_params(m);
        m->params = p.n;
        m->params_counted = true;
        return !p.failed;
    }
    return true;
}

/* ---- terms ---- */

struct summing {
    const struct mt_estimate_options *o;
    struct mt_estimate *e;
    bool failed;
};

static struct mt_estimate_term *add_term(struct summing *x, enum mt_estimate_id id,
                                         struct product bytes)
{
    struct mt_estimate_term *t = &x->e->terms[x->e->n++];
    *t = (struct mt_estimate_term){.id = id, .bytes = bytes.n};
    x->failed |= bytes.failed | mt_add_overflow(x->e->total, bytes.n, &x->e->total);
    return t;
}

static const char *size_text(uint64_t bytes, struct mt_size_text *space)
{
    *space = mt_size_text(bytes, (struct mt_size_format){MT_UNIT_AUTO, false});
    return space->s;
}

/* Shares of `params` bits each, divided by the data-parallel size where the stage says so. */
static void add_state(struct summing *x, enum mt_estimate_id id, unsigned bits, int from_stage,
                      const char *what)
{
    const struct mt_estimate_options *o = x->o;
    bool divided = o->zero >= from_stage && o->ranks > 1;
    struct product all = times(number(o->model.params), bits);
    all.n = all.n / 8 + (all.n % 8 != 0);
    x->failed |= mt_add_overflow(x->e->states_all, all.n, &x->e->states_all);
    struct product mine = all;
    mine.n = divided ? all.n / o->ranks + (all.n % o->ranks != 0) : all.n;
    struct mt_estimate_term *t = add_term(x, id, mine);
    x->e->states += mine.n;
    int n = snprintf(t->formula, sizeof t->formula, "%s parameters x %g B (%s)",
                     mt_count_text(o->model.params).s, bits / 8.0, what);
    if (divided && n > 0 && (size_t)n < sizeof t->formula) {
        snprintf(t->formula + n, sizeof t->formula - (size_t)n, " / %" PRIu64 " ranks (ZeRO %d)",
                 o->ranks, o->zero);
    }
    if (id == MT_TERM_WEIGHTS && o->model.params_counted) {
        snprintf(t->doubt, sizeof t->doubt,
                 "parameters counted from the shape: unusual layers "
                 "are not in it");
    }
    if (id == MT_TERM_WEIGHTS && divided) {
        snprintf(t->doubt, sizeof t->doubt,
                 "whole layers are gathered for use: one or two more "
                 "layers at a time");
    }
}

static void add_optimizer(struct summing *x)
{
    const struct mt_estimate_options *o = x->o;
    bool master = o->dtype != MT_FP32 && !o->no_master;
    unsigned moments = optimizers[o->optimizer].bytes;
    char what[80];
    snprintf(what, sizeof what, "%s: %smoments %u B", optimizers[o->optimizer].name,
             master ? "fp32 copy 4 B + " : "", moments);
    add_state(x, MT_TERM_OPTIMIZER, 8 * (moments + (master ? 4 : 0)), 1, what);
    struct mt_estimate_term *t = &x->e->terms[x->e->n - 1];
    if (o->optimizer == MT_OPTIMIZER_ADAFACTOR) {
        snprintf(t->doubt, sizeof t->doubt,
                 "its row and column sums are small and not counted; with momentum 4 B more");
    }
}

/* Elements x bytes of half precision, or as the dtype says. */
static unsigned activation_bytes(const struct mt_estimate_options *o)
{
    return o->dtype == MT_FP32 ? 4 : 2;
}

static void doubt_activations(struct summing *x, struct mt_estimate_term *t)
{
    const struct mt_estimate_options *o = x->o;
    const struct mt_model_shape *m = &o->model;
    struct mt_size_text a, b, c, d;
    struct product tokens = product4(o->batch, o->sequence, m->layers, 1);
    struct product flash = times(times(tokens, m->hidden), 34);
    struct product matrix = times(times(times(tokens, o->sequence), m->heads), 5);
    struct product least = times(times(tokens, m->hidden), 2);
    struct product logits = product4(o->batch, o->sequence, m->vocab, 4);
    if (flash.failed || matrix.failed || logits.failed) {
        return;
    }
    int n =
        snprintf(t->doubt, sizeof t->doubt,
                 "rule of thumb. Korthikanti 2022: s b h (34 + 5 a s/h) a layer = %s, %s "
                 "without the attention matrix; least (one tensor a layer): %s",
                 size_text(flash.n + matrix.n, &a), size_text(flash.n, &b), size_text(least.n, &c));
    if (m->vocab && n > 0 && (size_t)n < sizeof t->doubt) {
        snprintf(t->doubt + n, sizeof t->doubt - (size_t)n,
                 "; logits in fp32 add %s while the loss is computed", size_text(logits.n, &d));
    }
}

static void add_activations(struct summing *x)
{
    static const struct {
        unsigned keep_pct;
        const char *text;
    } kept[] = {[MT_CHECKPOINT_NONE] = {100, ""},
                [MT_CHECKPOINT_SELECTIVE] = {50, " x 50 % (selective checkpointing)"},
                [MT_CHECKPOINT_FULL] = {20, " x 20 % (full checkpointing)"}};
    const struct mt_estimate_options *o = x->o;
    const struct mt_model_shape *m = &o->model;
    if (!o->batch || !o->sequence || !m->layers || !m->hidden) {
        return;
    }
    struct product p = product4(12, o->batch, o->sequence, m->hidden);
    p = times(times(p, m->layers), activation_bytes(o));
    p.n = p.n / 100 * kept[o->checkpointing].keep_pct +
          p.n % 100 * kept[o->checkpointing].keep_pct / 100;
    struct mt_estimate_term *t = add_term(x, MT_TERM_ACTIVATIONS, p);
    snprintf(t->formula, sizeof t->formula,
             "12 x batch %" PRIu64 " x sequence %" PRIu64 " x hidden %" PRIu64 " x %" PRIu64
             " layers x %u B%s",
             o->batch, o->sequence, m->hidden, m->layers, activation_bytes(o),
             kept[o->checkpointing].text);
    doubt_activations(x, t);
}

static void add_kv_cache(struct summing *x)
{
    const struct mt_estimate_options *o = x->o;
    const struct mt_model_shape *m = &o->model;
    if (!o->batch || !o->sequence || !m->layers || !m->kv_heads || !m->head_dim) {
        return;
    }
    struct product p = product4(2, m->layers, m->kv_heads, m->head_dim);
    p = times(times(p, o->sequence), o->batch);
    p = times(p, dtypes[o->kv_dtype].bits);
    p.n /= 8;
    struct mt_estimate_term *t = add_term(x, MT_TERM_KV_CACHE, p);
    snprintf(t->formula, sizeof t->formula,
             "2 x %" PRIu64 " layers x %" PRIu64 " kv heads x %" PRIu64 " x sequence %" PRIu64
             " x batch %" PRIu64 " x %g B",
             m->layers, m->kv_heads, m->head_dim, o->sequence, o->batch,
             dtypes[o->kv_dtype].bits / 8.0);
    snprintf(t->doubt, sizeof t->doubt,
             "every sequence at its full length; servers that page the "
             "cache take what is left of the card instead");
}

/* Fragmentation is the share of what the allocator reserves: x / (1 - f) - x. */
static void add_fragmentation(struct summing *x)
{
    const struct mt_estimate_options *o = x->o;
    double lost = (double)x->e->total * o->fragmentation / (1 - o->fragmentation);
    struct mt_estimate_term *t =
        add_term(x, MT_TERM_FRAGMENTATION, number(lost < 1e18 ? (uint64_t)lost : 0));
    snprintf(t->formula, sizeof t->formula, "%.1f %% of reserved memory", 100 * o->fragmentation);
    snprintf(t->doubt, sizeof t->doubt, "%s",
             o->fragmentation_from
                 ? o->fragmentation_from
                 : "0 to 20 % is normal; --fragmentation sets it, --against takes "
                   "it from a snapshot");
}

static void add_workspace(struct summing *x)
{
    struct mt_estimate_term *t = add_term(x, MT_TERM_WORKSPACE, number(x->o->workspace));
    snprintf(t->formula, sizeof t->formula, "workspaces of cuBLAS and cuDNN");
    snprintf(t->doubt, sizeof t->doubt, "%s",
             x->o->ranks > 1 ? "a guess; NCCL adds 0.1 to 1 GiB with several ranks"
                             : "a guess; depends on library and streams");
}

static void add_context(struct summing *x)
{
    struct mt_estimate_term *t = add_term(x, MT_TERM_CONTEXT, number(x->o->context));
    snprintf(t->formula, sizeof t->formula, "CUDA context");
    snprintf(t->doubt, sizeof t->doubt, "0.5 to 1 GiB, depends on driver and kernels loaded");
}

enum mt_status mt_estimate_find(struct mt_estimate *e, const struct mt_estimate_options *o,
                                struct mt_error *err)
{
    struct summing x = {.o = o, .e = e};
    *e = (struct mt_estimate){0};
    if (!o->model.params) {
        mt_fail(err, MT_USAGE, MT_NO_OFFSET, "no model: how many parameters?");
        return mt_hint(err, "--params 7B, --config config.json, or --layers, --hidden, --heads and "
                            "--vocab");
    }
    add_state(&x, MT_TERM_WEIGHTS, dtypes[o->dtype].bits, o->inference ? 4 : 3,
              dtypes[o->dtype].name);
    if (o->inference) {
        add_kv_cache(&x);
    } else {
        add_state(&x, MT_TERM_GRADIENTS, dtypes[o->grad_dtype].bits, 2, dtypes[o->grad_dtype].name);
        add_optimizer(&x);
        add_activations(&x);
        add_workspace(&x);
        add_fragmentation(&x);
    }
    add_context(&x);
    for (size_t i = 1; i < e->n; i++) {
        e->largest = e->terms[i].bytes > e->terms[e->largest].bytes ? i : e->largest;
    }
    return x.failed ? mt_fail(err, MT_LIMIT, MT_NO_OFFSET, "the total does not fit 64 bits")
                    : MT_OK;
}

/* ---- cards ---- */

static const struct {
    const char *name;
    unsigned gib;
} cards[] = {{"t4", 16},      {"v100", 16},     {"v100-32", 32}, {"a10", 24},     {"l4", 24},
             {"a6000", 48},   {"l40s", 48},     {"a100-40", 40}, {"a100-80", 80}, {"a100", 80},
             {"h100", 80},    {"h100-nvl", 94}, {"h200", 141},   {"b200", 180},   {"rtx3090", 24},
             {"rtx4090", 24}, {"rtx5090", 32}};

const char *const MT_CARD_NAMES[] = {"t4",   "v100",    "v100-32", "a10",     "l4",      "a6000",
                                     "l40s", "a100-40", "a100-80", "a100",    "h100",    "h100-nvl",
                                     "h200", "b200",    "rtx3090", "rtx4090", "rtx5090", NULL};
_Static_assert(MT_COUNT(cards) + 1 == MT_COUNT(MT_CARD_NAMES), "each card has its name listed");

uint64_t mt_card_find(struct mt_str name)
{
    for (size_t i = 0; i < MT_COUNT(cards); i++) {
        size_t n = strlen(cards[i].name);
        bool same = name.n == n;
        for (size_t k = 0; same && k < n; k++) {
            char c = name.p[k];
            same = (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) == cards[i].name[k];
        }
        if (same) {
            return cards[i].gib * MT_GIB;
        }
    }
    return 0;
}
