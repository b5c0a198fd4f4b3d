/* SPDX-License-Identifier: MIT */
/*
 * Weights, gradients and what optimizers keep: sums over the tensors of one pipeline stage, of
 * which tensor and expert parallelism leave a share, and ZeRO or FSDP a share of that.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/checked.h"

#include "verbs/estimate/terms.h"

/* Bytes a parameter; 0 for weights and gradients: as the dtype. Sources stand in the man page. */
static const struct {
    unsigned weights, gradients, extra_gradients, master;
    bool wide_moments; /* in fp32, else as the weights */
    bool buffers;      /* gradients lie in buffers that stay */
} accounts[] = {
    [MT_ACCOUNT_MIXED] = {0, 0, 0, 4, true, true},
    [MT_ACCOUNT_AMP] = {4, 4, 0, 0, true, false},
    [MT_ACCOUNT_PURE] = {0, 0, 0, 0, false, false},
    [MT_ACCOUNT_MEGATRON] = {0, 4, 0, 4, true, true},
    [MT_ACCOUNT_NEMO] = {0, 0, 4, 4, true, true},
};
_Static_assert(MT_COUNT(accounts) == MT_ACCOUNT_COUNT, "each account");

static const char *const optimizers[] = {
    [MT_OPTIMIZER_ADAM] = "adam",
    [MT_OPTIMIZER_ADAM8BIT] = "adam8bit",
    [MT_OPTIMIZER_ADAFACTOR] = "adafactor",
    [MT_OPTIMIZER_MOMENTUM] = "momentum",
    [MT_OPTIMIZER_LION] = "lion",
    [MT_OPTIMIZER_MUON] = "muon",
    [MT_OPTIMIZER_SGD] = "sgd",
};

bool mt_gradients_stay(const struct mt_estimate_options *o)
{
    return accounts[o->account].buffers || o->zero > 0;
}

/* ---- one tensor ---- */

bool mt_adapted(const struct mt_estimate_options *o, const struct mt_part *p)
{
    bool mlp = mt_str_find(p->name, MT_STR("mlp")) != SIZE_MAX ||
               mt_str_find(p->name, MT_STR("feed_forward")) != SIZE_MAX;
    return o->lora && p->kind == MT_PART_LINEAR && !p->tower && p->layer != MT_NO_LAYER &&
           !p->expert &&
           (o->lora_targets == MT_LORA_ALL || (o->lora_targets == MT_LORA_MLP) == mlp);
}

/* One trained tensor of `n` elements in all its copies on this device. */
struct trained {
    uint64_t n, rows, columns, copies;
    bool matrix, hidden;
};

enum { SMALL_8BIT = 4096, BLOCK_8BIT = 256 }; /* bitsandbytes: min_8bit_size, block size */

/* Bytes of what the optimizer keeps of it, without a copy of the weights. */
static uint64_t moments(struct mt_summing *x, const struct trained *t)
{
    const struct mt_estimate_options *o = x->o;
    uint64_t each = accounts[o->account].wide_moments || o->lora ? 4 : mt_compute_bytes(o);
    uint64_t one = t->copies ? t->n / t->copies : 0;
    switch (o->optimizer) {
    case MT_OPTIMIZER_ADAM: return mt_times(x, t->n, 2 * each);
    case MT_OPTIMIZER_ADAM8BIT:
        return one < SMALL_8BIT
                   ? mt_times(x, t->n, 8)
                   : mt_plus(x, mt_times(x, t->n, 2),
                             mt_times(x, 8 * t->copies, mt_divide_up(one, BLOCK_8BIT)));
    case MT_OPTIMIZER_ADAFACTOR:
        return t->matrix ? mt_times(x, 4 * t->copies, mt_plus(x, t->rows, t->columns))
                         : mt_times(x, t->n, 4);
    case MT_OPTIMIZER_MOMENTUM:
    case MT_OPTIMIZER_LION: return mt_times(x, t->n, each);
    case MT_OPTIMIZER_MUON: return mt_times(x, t->n, (t->hidden ? 1 : 2) * each);
    default: return 0;
    }
}

/* ---- blocks ---- */

/* What PyTorch's allocator grants beyond `bytes`: a tensor that gets a segment of its own keeps the
 * rest of it, where that is too small to be split off. */
static uint64_t unsplit(const struct mt_torch_rules *t, uint64_t bytes)
{
    uint64_t size = mt_torch_round(t, bytes);
    uint64_t segment = mt_torch_segment_size(t, size);
    bool own = size >= MT_TORCH_MIN_LARGE_ALLOC && !mt_torch_splits(t, false, size, segment);
    return (own ? segment : size) - bytes;
}

/* The same of all that is kept of a part, one tensor each: weights, gradients, moments. */
static uint64_t unsplit_part(struct mt_summing *x, const struct mt_part *p, uint64_t bytes)
{
    static const unsigned moments_of[] = {
        [MT_OPTIMIZER_ADAM] = 2,     [MT_OPTIMIZER_ADAM8BIT] = 2, [MT_OPTIMIZER_ADAFACTOR] = 0,
        [MT_OPTIMIZER_MOMENTUM] = 1, [MT_OPTIMIZER_LION] = 1,     [MT_OPTIMIZER_MUON] = 1,
        [MT_OPTIMIZER_SGD] = 0,
    };
    const struct mt_estimate_options *o = x->o;
    uint64_t copies = mt_divide_up(p->count, p->expert ? o->ep : 1),
             one = bytes / (copies ? copies : 1);
    if (one == 0 || one >= MT_TORCH_REQUEST_GUARD || p->layer == MT_NO_LAYER) {
        return 0;
    }
    uint64_t sum = unsplit(&x->rules, one);
    if (!o->inference && !o->lora) { /* as wide as the weights, but in 8 bits */
        uint64_t moment = o->optimizer == MT_OPTIMIZER_ADAM8BIT ? one / mt_compute_bytes(o) : one;
        sum = 2 * sum + moments_of[o->optimizer] * unsplit(&x->rules, moment ? moment : 1);
    }
    return mt_times(x, sum, copies);
}

/* ---- sums ---- */

/* Of tensors outside experts and of experts, which different numbers of ranks hold again. */
struct share {
    uint64_t weights, gradients, optimizer, trained;
};

struct sums {
    struct share dense, experts;
    uint64_t unit; /* elements of the largest layer, which FSDP gathers as a whole */
    uint64_t unsplit;
};

static unsigned gradient_bytes(const struct mt_estimate_options *o)
{
    unsigned own = (unsigned)mt_compute_bytes(o);
    unsigned fixed = accounts[o->account].gradients;
    unsigned one = o->grad_dtype ? mt_dtype_bits((enum mt_dtype)(o->grad_dtype - 1)) / 8
                   : fixed       ? fixed
                                 : own;
    return one + (own < 4 ? accounts[o->account].extra_gradients : 0);
}

static unsigned master_bytes(const struct mt_estimate_options *o)
{
    return mt_compute_bytes(o) < 4 ? accounts[o->account].master : 0;
}

static void add_trained(struct mt_summing *x, struct share *s, const struct trained *t,
                        unsigned gradients, unsigned master)
{
    s->trained = mt_plus(x, s->trained, t->n);
    s->gradients = mt_plus(x, s->gradients, mt_times(x, t->n, gradients));
    s->optimizer = mt_plus(x, s->optimizer, mt_plus(x, moments(x, t), mt_times(x, t->n, master)));
}

/* A of rank x in and B of out x rank, in fp32 (peft casts adapters of half precision). Tensor
 * parallelism divides one of the two. */
static void add_adapter(struct mt_summing *x, struct share *s, const struct mt_part *p)
{
    uint64_t rank = x->o->lora, in = p->dims[1], out = p->dims[0];
    out = p->split == MT_SPLIT_COLUMN ? mt_divide_up(out, x->o->tp) : out;
    in = p->split == MT_SPLIT_ROW ? mt_divide_up(in, x->o->tp) : in;
    struct trained a = {mt_times(x, rank, in), rank, in, 1, true, true};
    struct trained b = {mt_times(x, rank, out), out, rank, 1, true, true};
    s->weights = mt_plus(x, s->weights, mt_times(x, mt_plus(x, a.n, b.n), 4));
    add_trained(x, s, &a, 4, 0);
    add_trained(x, s, &b, 4, 0);
}

static uint64_t weight_bytes(struct mt_summing *x, const struct mt_part *p)
{
    bool wide = !x->o->inference && accounts[x->o->account].weights && !x->o->lora;
    uint64_t bytes = wide && p->kind != MT_PART_BUFFER && !mt_part_quantized(x->m, p)
                         ? mt_times(x, mt_part_elements(p), accounts[x->o->account].weights)
                         : mt_part_bytes(x->m, p);
    x->failed |= bytes == UINT64_MAX;
    return mt_divide_up(bytes, mt_shares(x, p));
}

static void add_part(struct mt_summing *x, struct sums *all, const struct mt_part *p)
{
    const struct mt_estimate_options *o = x->o;
    struct share *s = p->expert ? &all->experts : &all->dense;
    uint64_t bytes = weight_bytes(x, p);
    s->weights = mt_plus(x, s->weights, bytes);
    if (o->inference || !mt_gradients_stay(o)) {
        all->unsplit = mt_plus(x, all->unsplit, unsplit_part(x, p, bytes));
    }
    if (o->inference || p->kind == MT_PART_BUFFER) {
        return;
    }
    if (mt_adapted(o, p)) {
        add_adapter(x, s, p);
    } else if (!o->lora) {
        struct trained t = {.n = mt_divide_up(mt_part_elements(p), mt_shares(x, p)),
                            .rows = p->dims[0],
                            .columns = p->n_dims > 1 ? p->dims[1] : 1,
                            .copies = mt_divide_up(p->count, p->expert ? o->ep : 1),
                            .matrix = p->n_dims > 1,
                            .hidden = p->n_dims == 2 && p->layer != MT_NO_LAYER};
        add_trained(x, s, &t, gradient_bytes(o), master_bytes(o));
    }
}

/* The largest layer, or what stands outside of layers, in elements of this device; 0 where no
 * layers are known. */
static uint64_t largest_unit(struct mt_summing *x)
{
    uint64_t unit = 0, sum = 0, outside = 0;
    uint32_t layer = MT_NO_LAYER;
    for (size_t i = 0; i < x->m->parts.n; i++) {
        const struct mt_part *p = &x->m->parts.v[i];
        uint64_t n = mt_on_stage(x, p) ? mt_part_elements(p) / mt_shares(x, p) : 0;
        if (p->layer == MT_NO_LAYER) {
            outside = mt_add_sat(outside, n);
            continue;
        }
        sum = p->layer == layer ? mt_add_sat(sum, n) : n;
        layer = p->layer;
        unit = sum > unit ? sum : unit;
    }
    return unit == 0 ? 0 : unit > outside ? unit : outside;
}

static struct sums sum_parts(struct mt_summing *x)
{
    struct sums all = {0};
    for (size_t i = 0; i < x->m->parts.n; i++) {
        if (mt_on_stage(x, &x->m->parts.v[i])) {
            add_part(x, &all, &x->m->parts.v[i]);
        }
    }
    all.unit = largest_unit(x);
    return all;
}

/* ---- terms ---- */

/* The files' own size decides, where it is known: each share in proportion. */
static uint64_t as_stored(const struct mt_model *m, uint64_t bytes)
{
    return m->stored && m->counted
               ? (uint64_t)((double)bytes * (double)m->stored / (double)m->counted + 0.5)
               : bytes;
}

/* What data parallelism leaves of a sum, from the given stage of ZeRO on. */
static uint64_t sharded(struct mt_summing *x, uint64_t dense, uint64_t experts, int from_stage)
{
    const struct mt_estimate_options *o = x->o;
    if (o->zero < from_stage || o->inference) {
        return mt_plus(x, dense, experts);
    }
    uint64_t again = o->ranks / o->ep ? o->ranks / o->ep : 1;
    return mt_plus(x, mt_divide_up(dense, o->ranks), mt_divide_up(experts, again));
}

static void say_share(const struct mt_summing *x, struct mt_estimate_term *t, int from_stage)
{
    const struct mt_estimate_options *o = x->o;
    size_t n = strlen(t->formula);
    struct {
        uint64_t by;
        const char *what;
    } each[] = {{o->tp, "TP"}, {o->pp, "PP"}, {o->ep, "EP"}, {0, "ranks"}};
    each[3].by = !o->inference && o->zero >= from_stage ? o->ranks : 1;
    for (size_t i = 0; i < MT_COUNT(each); i++) {
        if (each[i].by > 1 && n < sizeof t->formula) {
            n += (size_t)snprintf(t->formula + n, sizeof t->formula - n, " / %" PRIu64 " %s",
                                  each[i].by, each[i].what);
        }
    }
}

static void add_weights(struct mt_summing *x, const struct sums *s)
{
    const struct mt_model *m = x->m;
    uint64_t bytes = as_stored(m, sharded(x, s->dense.weights, s->experts.weights, 3));
    bool host = x->o->offload == MT_OFFLOAD_ALL;
    x->e->on_host += host ? bytes : 0;
    struct mt_estimate_term *t = mt_term_add(x, MT_TERM_WEIGHTS, mt_exactly(host ? 0 : bytes));
    const char *dtype = !x->o->inference && !x->o->lora && accounts[x->o->account].weights
                            ? "fp32"
                            : mt_dtype_name(m->dtype);
    snprintf(t->formula, sizeof t->formula, "%s parameters, %s%s%s", mt_count_text(m->params).s,
             m->quant.method ? m->quant.method : dtype, m->quant.method ? " and " : "",
             m->quant.method ? dtype : "");
    if (x->o->lora && !x->o->inference) {
        size_t n = strlen(t->formula);
        snprintf(t->formula + n, sizeof t->formula - n, ", and %s of adapters, fp32",
                 mt_count_text(x->e->trained).s);
    }
    say_share(x, t, 3);
    if (host) {
        snprintf(t->doubt, sizeof t->doubt, "on the host");
    } else if (x->o->zero == 3 && !x->o->inference && !s->unit) {
        snprintf(t->doubt, sizeof t->doubt,
                 "whole layers are gathered for use, and no layers are known");
    } else if (!m->dtype_said && m->dtype == MT_FP32 && !m->quant.method) {
        snprintf(t->doubt, sizeof t->doubt,
                 "the config names no dtype: fp32 is what PyTorch then makes; --dtype sets it");
    }
}

static void add_gradients(struct mt_summing *x, const struct sums *s)
{
    uint64_t bytes = sharded(x, s->dense.gradients, s->experts.gradients, 2);
    struct mt_range r = mt_exactly(bytes);
    bool ddp = x->o->ranks > 1 && x->o->zero == 0 && !mt_gradients_stay(x->o);
    r.high = ddp ? mt_plus(x, bytes, bytes) : bytes;
    struct mt_estimate_term *t = mt_term_add(x, MT_TERM_GRADIENTS, r);
    snprintf(t->formula, sizeof t->formula, "%s trained x %u B", mt_count_text(x->e->trained).s,
             x->o->lora ? 4 : gradient_bytes(x->o));
    say_share(x, t, 2);
    if (ddp) {
        snprintf(t->doubt, sizeof t->doubt,
                 "DDP's buckets are as large again without gradient_as_bucket_view=True");
    }
}

static void add_optimizer(struct mt_summing *x, const struct sums *s)
{
    const struct mt_estimate_options *o = x->o;
    uint64_t bytes = sharded(x, s->dense.optimizer, s->experts.optimizer, 1);
    bool host = o->offload != MT_OFFLOAD_NONE;
    x->e->on_host += host ? bytes : 0;
    uint64_t trained = mt_plus(x, s->dense.trained, s->experts.trained);
    struct mt_estimate_term *t = mt_term_add(x, MT_TERM_OPTIMIZER, mt_exactly(host ? 0 : bytes));
    uint64_t whole = mt_plus(x, s->dense.optimizer, s->experts.optimizer);
    snprintf(t->formula, sizeof t->formula, "%s trained x %.4g B (%s%s)",
             mt_count_text(x->e->trained).s, trained ? (double)whole / (double)trained : 0,
             optimizers[o->optimizer], !o->lora && master_bytes(o) ? ", fp32 copy" : "");
    say_share(x, t, 1);
    if (host) {
        snprintf(t->doubt, sizeof t->doubt, "on the host");
    }
}

/* Elements that DeepSpeed reduces or gathers at a time: reduce_bucket_size and
 * allgather_bucket_size of its defaults. */
#define BUCKET UINT64_C(500000000)

/* Units of weights that FSDP and ZeRO 3 gather for use, this one and the next, and the gradients of
 * one; below ZeRO 3 DeepSpeed's buckets. */
static void add_gathered(struct mt_summing *x, const struct sums *s)
{
    const struct mt_estimate_options *o = x->o;
    uint64_t each = mt_compute_bytes(o), unit = mt_times(x, s->unit, each);
    uint64_t all = mt_plus(x, s->dense.trained, s->experts.trained);
    uint64_t bucket = mt_times(x, all < BUCKET ? all : BUCKET, each);
    bool buckets = o->zero > 0 && o->zero < 3 && accounts[o->account].buffers;
    bool gathers = unit && (o->zero == 3 || o->offload == MT_OFFLOAD_ALL);
    if (o->inference || o->ranks < 2 || (!buckets && !gathers)) {
        return;
    }
    struct mt_range r = {0, bucket, mt_times(x, bucket, 2)};
    if (gathers) {
        r = (struct mt_range){unit, mt_times(x, unit, 3), mt_plus(x, mt_times(x, unit, 4), bucket)};
    }
    struct mt_estimate_term *t = mt_term_add(x, MT_TERM_GATHERED, r);
    if (gathers) {
        snprintf(t->formula, sizeof t->formula,
                 "%s of the largest unit x %" PRIu64 " B x (this, the next, one gradient)",
                 mt_count_text(s->unit).s, each);
        snprintf(
            t->doubt, sizeof t->doubt,
            "units are layers here, coarser wrapping gathers more; most: DeepSpeed's bucket of "
            "5e8 elements too");
    } else {
        snprintf(t->formula, sizeof t->formula, "a bucket of 5e8 elements (or all) x %" PRIu64 " B",
                 each);
        snprintf(t->doubt, sizeof t->doubt,
                 "DeepSpeed's reduce_bucket_size and allgather_bucket_size, of which one or both "
                 "are there at a time");
    }
}

/* Of the whole model, once. */
static void add_states_of_all(struct mt_summing *x)
{
    struct mt_estimate_options o = *x->o;
    struct mt_summing all = *x;
    o.tp = o.pp = o.ep = o.ranks = 1;
    all.o = &o;
    all.stage = 0;
    struct sums s = sum_parts(&all);
    x->failed |= all.failed;
    x->e->trained = mt_plus(x, s.dense.trained, s.experts.trained);
    x->e->states_all = mt_plus(x, as_stored(x->m, mt_plus(x, s.dense.weights, s.experts.weights)),
                               mt_plus(x, mt_plus(x, s.dense.gradients, s.experts.gradients),
                                       mt_plus(x, s.dense.optimizer, s.experts.optimizer)));
}

void mt_add_states(struct mt_summing *x)
{
    add_states_of_all(x);
    struct sums s = sum_parts(x);
    x->unsplit = s.unsplit;
    add_weights(x, &s);
    if (!x->o->inference) {
        add_gradients(x, &s);
        add_optimizer(x, &s);
        add_gathered(x, &s);
    }
    for (size_t i = 0; i < x->e->n; i++) {
        enum mt_estimate_id id = x->e->terms[i].id;
        x->e->states += id <= MT_TERM_OPTIMIZER ? x->e->terms[i].bytes.middle : 0;
    }
}
