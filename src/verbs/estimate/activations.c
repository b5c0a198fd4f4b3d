/* SPDX-License-Identifier: MIT */
/*
 * What a forward pass leaves for the backward pass: a sum over what the layers compute, by rules of
 * which tensors autograd keeps. Three ways to write a layer differ: fused kernels (the least),
 * plain PyTorch as in transformers with flash attention (the middle), and the same with keys and
 * values repeated for each head, or another norm in fp32 (the most).
 *
 * Bytes a token of one layer of Llama in bf16, all parameters trained, come out as
 * 16 h + 4 a d + 4 k d + 8 f + 4 (a + 2): the account of memtool-estimate(1). The parts are
 * Korthikanti's (2022, arXiv 2205.05198, section 4.1), with the norms as eager code has them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "verbs/estimate/terms.h"

uint64_t mt_compute_bytes(const struct mt_estimate_options *o)
{
    return o->dtype == MT_FP32 ? 4 : 2;
}

/* Bytes a token, of a layer. `whole`: what tensor parallelism leaves on each rank. */
struct kept {
    struct mt_range whole, split;
    struct mt_range matrix; /* of the attention matrix, for each token of the sequence */
};

struct rules {
    uint64_t b;     /* bytes of an element that is computed with */
    bool residual4; /* the residual stream is in fp32: fp32 weights */
    bool amp;       /* and linears take copies in half precision */
    bool frozen;    /* weights are not trained, adapters are */
    bool eager;
};

static struct rules rules_of(const struct mt_estimate_options *o)
{
    bool amp = o->account == MT_ACCOUNT_AMP && o->dtype != MT_FP32;
    return (struct rules){.b = mt_compute_bytes(o),
                          .residual4 = amp || o->dtype == MT_FP32,
                          .amp = amp,
                          .frozen = o->lora > 0,
                          .eager = o->eager};
}

static void add(struct mt_range *r, uint64_t low, uint64_t middle, uint64_t high)
{
    r->low = mt_add_sat(r->low, low);
    r->middle = mt_add_sat(r->middle, middle);
    r->high = mt_add_sat(r->high, high);
}

/* RMSNorm: x in fp32, 1/rms, and for the weight's gradient the normalized vector. LayerNorm is one
 * kernel: x, mean and 1/deviation. */
static void keep_norm(struct kept *k, const struct mt_work *w, const struct rules *r)
{
    /* heads come from a linear in half precision */
    uint64_t n = w->width * w->copies, wide = r->residual4 && w->copies == 1 ? 4 : r->b;
    uint64_t fused = wide * n + (w->centred ? 8 : 4) * w->copies;
    uint64_t eager = 4 * n + (r->frozen ? 0 : wide * n) + 4 * w->copies;
    /* a norm of heads stands behind a linear that is divided */
    struct mt_range *to = w->copies > 1 ? &k->split : &k->whole;
    add(to, fused, w->centred ? fused : eager, w->centred ? fused : eager + (4 - wide) * n);
}

/* Input of the projections that make queries, keys and values; those; out, which is the input of
 * the last projection; the log-sum-exp. */
static void keep_attention(struct kept *k, const struct mt_work *w, const struct rules *r,
                           uint64_t hidden)
{
    uint64_t q = w->heads * w->key, out = w->heads * w->value;
    uint64_t kv = w->kv_heads * (w->key + w->value), repeated = q + out;
    uint64_t input = r->frozen ? 0 : r->b * (hidden + w->width) * (r->amp ? 3 : 1);
    add(&k->whole, r->frozen ? 0 : r->b * (hidden + w->width), input, input);
    uint64_t flash = r->b * (q + kv + out) + 4 * w->heads;
    add(&k->split, flash, flash, r->b * (q + repeated + out) + 4 * w->heads);
    uint64_t softmax = (4 + r->b) * w->heads;
    if (r->eager) {
        add(&k->matrix, r->b * w->heads, softmax, 2 * softmax);
    }
}

/* Input, and of the inner size: gate, its activation, up, and the product, or the input and output
 * of one activation. Experts also keep their gathered inputs and their outputs. */
static void keep_mlp(struct kept *k, const struct mt_work *w, const struct rules *r,
                     uint64_t hidden)
{
    uint64_t f = w->width * w->copies;
    uint64_t input = r->frozen ? 0 : r->b * hidden * (r->amp && w->gated ? 2 : 1);
    uint64_t inner = w->gated ? 4 : 2, last = r->frozen ? 1 : 0;
    add(&k->whole, r->frozen ? 0 : r->b * hidden, input, input);
    add(&k->split, (inner - 1) * r->b * f, (inner - last) * r->b * f, inner * r->b * f);
    if (w->experts) {
        uint64_t moved = r->b * hidden * w->copies, choice = 8 * w->experts;
        add(&k->whole, choice, 2 * moved + choice, 4 * moved + choice);
    }
}

/* A convolution and a scan over states: from what mamba_ssm's fused kernels keep to the plain
 * loop; not measured. */
static void keep_scan(struct kept *k, const struct mt_work *w, const struct rules *r)
{
    add(&k->split, 5 * r->b * w->width, 8 * r->b * w->width, 16 * r->b * w->width);
}

static void keep_work(struct kept *k, const struct mt_work *w, const struct rules *r,
                      uint64_t hidden)
{
    switch (w->kind) {
    case MT_WORK_NORM: keep_norm(k, w, r); break;
    case MT_WORK_ATTEND: keep_attention(k, w, r, hidden); break;
    case MT_WORK_MLP: keep_mlp(k, w, r, hidden); break;
    default: keep_scan(k, w, r); break;
    }
}

/* Each adapter keeps a copy of its input and what its first matrix makes of it; with dropout also
 * the dropped input and the mask. */
static void keep_adapter(struct kept *k, const struct mt_part *p,
                         const struct mt_estimate_options *o, const struct rules *r)
{
    uint64_t in = r->b * p->dims[1], made = r->b * o->lora;
    struct mt_range *to = p->split == MT_SPLIT_ROW ? &k->split : &k->whole;
    add(to, made, in + made, 2 * in + p->dims[1] + made);
}

/* ---- sums ---- */

static uint64_t hidden_of(const struct mt_summing *x)
{
    return x->m->hidden;
}

static struct kept keep_layer(const struct mt_summing *x, uint32_t layer)
{
    struct rules r = rules_of(x->o);
    struct kept k = {0};
    for (size_t i = 0; i < x->m->works.n; i++) {
        const struct mt_work *w = &x->m->works.v[i];
        if (!w->tower && w->layer == layer) {
            keep_work(&k, w, &r, hidden_of(x));
        }
    }
    for (size_t i = 0; r.frozen && i < x->m->parts.n; i++) {
        const struct mt_part *p = &x->m->parts.v[i];
        if (p->layer == layer && mt_adapted(x->o, p)) {
            keep_adapter(&k, p, x->o, &r);
        }
    }
    return k;
}

static uint64_t at(const struct mt_range *r, int i)
{
    return i == 0 ? r->low : i == 1 ? r->middle : r->high;
}

static void put(struct mt_range *r, int i, uint64_t bytes)
{
    *(i == 0 ? &r->low : i == 1 ? &r->middle : &r->high) = bytes;
}

/* Tokens of a micro-batch that this device holds. */
static uint64_t tokens_of(struct mt_summing *x)
{
    return mt_times(x, x->o->batch, mt_divide_up(x->o->sequence, x->o->cp));
}

/* Bytes of one layer with all its tokens. */
static struct mt_range layer_bytes(struct mt_summing *x, uint32_t layer)
{
    const struct mt_estimate_options *o = x->o;
    struct kept k = keep_layer(x, layer);
    struct mt_range sum = {0};
    uint64_t tokens = tokens_of(x);
    bool matrix = o->recompute != MT_RECOMPUTE_SELECTIVE;
    for (int i = 0; i < 3; i++) {
        uint64_t a = mt_divide_up(at(&k.whole, i), o->sp ? o->tp : 1);
        a = mt_plus(x, a, mt_divide_up(at(&k.split, i), o->tp));
        if (matrix) {
            a = mt_plus(x, a, mt_times(x, mt_divide_up(at(&k.matrix, i), o->tp), o->sequence));
        }
        put(&sum, i, mt_times(x, a, tokens));
    }
    return sum;
}

/* Micro-batches that the stage has begun and not ended: one forward, one backward (Narayanan 2021,
 * arXiv 2104.04473). */
static uint64_t in_flight(const struct mt_summing *x)
{
    uint64_t most = x->o->micro_batches ? x->o->micro_batches : x->o->pp;
    uint64_t left = x->o->pp - x->stage;
    return left < most ? left : most;
}

/* Behind the last layer: the final norm, and the input of the output layer. */
static struct mt_range last_bytes(struct mt_summing *x)
{
    struct mt_range last = {0};
    if (x->stage != x->o->pp - 1) {
        return last;
    }
    last = layer_bytes(x, MT_NO_LAYER);
    uint64_t width = mt_times(x, x->m->hidden, rules_of(x->o).b);
    uint64_t input = mt_times(x, mt_divide_up(width, x->o->sp ? x->o->tp : 1), tokens_of(x));
    add(&last, input, input, input);
    return last;
}

static uint64_t layers_here(const struct mt_summing *x)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < x->m->layers; i++) {
        n += mt_layer_on_stage(x, (uint32_t)i, false);
    }
    return n;
}

/* What layers keep, and what one of them needs while it is computed again. */
struct layers_sum {
    struct mt_range all, largest;
    uint64_t n, kept_a_token; /* of the largest layer */
};

static struct layers_sum sum_layers(struct mt_summing *x)
{
    struct layers_sum s = {.n = layers_here(x)};
    for (uint64_t i = 0; i < x->m->layers; i++) {
        if (!mt_layer_on_stage(x, (uint32_t)i, false)) {
            continue;
        }
        struct mt_range one = layer_bytes(x, (uint32_t)i);
        for (int j = 0; j < 3; j++) {
            put(&s.all, j, mt_plus(x, at(&s.all, j), at(&one, j)));
            put(&s.largest, j, at(&one, j) > at(&s.largest, j) ? at(&one, j) : at(&s.largest, j));
        }
    }
    uint64_t tokens = tokens_of(x);
    s.kept_a_token = tokens ? s.largest.middle / tokens : 0;
    return s;
}

/* Copies of the weights that autocast keeps until its context ends. */
static uint64_t cast_copies(struct mt_summing *x)
{
    uint64_t n = 0;
    for (size_t i = 0; i < x->m->parts.n; i++) {
        const struct mt_part *p = &x->m->parts.v[i];
        bool cast = p->kind == MT_PART_LINEAR || p->kind == MT_PART_ROUTER ||
                    p->kind == MT_PART_HEAD || (p->kind == MT_PART_TABLE && x->m->tied);
        n = mt_plus(x, n, cast && mt_on_stage(x, p) ? mt_part_elements(p) / mt_shares(x, p) : 0);
    }
    return mt_times(x, n, 2);
}

static void say_activations(struct mt_estimate_term *t, const struct mt_summing *x,
                            const struct layers_sum *s)
{
    static const char *const again[] = {"", "", ", all computed again: input of each kept"};
    const struct mt_estimate_options *o = x->o;
    int n = snprintf(
        t->formula, sizeof t->formula,
        "batch %" PRIu64 " x sequence %" PRIu64 "%s%s x %" PRIu64 " layers x %s B per token%s",
        o->batch, o->sequence, o->cp > 1 ? " / CP " : "", o->cp > 1 ? mt_count_text(o->cp).s : "",
        s->n, mt_count_text(s->kept_a_token).s, again[o->recompute]);
    if (o->pp > 1 && n > 0 && (size_t)n < sizeof t->formula) {
        snprintf(t->formula + n, sizeof t->formula - (size_t)n, ", %" PRIu64 " in flight",
                 in_flight(x));
    }
    snprintf(t->doubt, sizeof t->doubt,
             "least: fused norms and MLP; most: norms in fp32, shared keys and values repeated%s%s",
             o->eager ? ", attention twice in fp32" : "",
             o->lora ? ", adapters with dropout in fp32" : "");
}

static void add_layers(struct mt_summing *x)
{
    const struct mt_estimate_options *o = x->o;
    struct rules r = rules_of(o);
    struct layers_sum s = sum_layers(x);
    struct mt_range sum, last = last_bytes(x);
    /* the input of each layer, divided too where norms are */
    uint64_t width = mt_times(x, r.residual4 ? 4 : r.b, x->m->hidden);
    uint64_t inputs =
        mt_times(x, mt_times(x, mt_divide_up(width, o->sp ? o->tp : 1), s.n), tokens_of(x));
    for (int j = 0; j < 3; j++) {
        uint64_t bytes =
            mt_times(x, o->recompute == MT_RECOMPUTE_FULL ? inputs : at(&s.all, j), in_flight(x));
        uint64_t again = o->recompute == MT_RECOMPUTE_FULL ? at(&s.largest, j) : 0;
        put(&sum, j, mt_plus(x, bytes, mt_plus(x, again, at(&last, j))));
    }
    if (r.amp) {
        uint64_t copies = cast_copies(x);
        add(&sum, copies, copies, copies);
    }
    struct mt_estimate_term *t = mt_term_add(x, MT_TERM_ACTIVATIONS, sum);
    say_activations(t, x, &s);
}

/*
 * transformers' loss for causal models: logits in half precision and in fp32, their log-softmax,
 * which is kept, and going back its gradient and that of the logits in fp32 and half precision.
 */
static void add_logits(struct mt_summing *x)
{
    const struct mt_estimate_options *o = x->o;
    uint64_t n = mt_times(x, tokens_of(x), mt_divide_up(x->m->vocab, o->tp)),
             b = mt_compute_bytes(o);
    bool last = x->stage == o->pp - 1;
    if (!x->m->vocab || !x->m->decoder || !last || o->fused_loss) {
        return;
    }
    struct mt_range r = {mt_times(x, n, 8), mt_times(x, n, 12 + b), mt_times(x, n, 16 + 2 * b)};
    struct mt_estimate_term *t = mt_term_add(x, MT_TERM_LOGITS, r);
    snprintf(t->formula, sizeof t->formula,
             "batch x sequence x vocabulary %s%s x (%" PRIu64 " B logits + 3 x 4 B of the loss)",
             mt_count_text(x->m->vocab).s, o->tp > 1 ? " / TP" : "", b);
    snprintf(t->doubt, sizeof t->doubt,
             "around the loss only; a fused or chunked loss (--fused-loss) needs almost none");
}

/* Serving computes a chunk of tokens at a time, and keeps nothing of a layer behind it. */
static void add_chunk(struct mt_summing *x)
{
    enum { CHUNK = 8192 }; /* tokens of a step: vLLM's max_num_batched_tokens, SGLang's prefill */
    struct mt_summing one = *x;
    struct mt_estimate_options o = *x->o;
    uint64_t tokens = mt_times(x, o.batch, o.sequence);
    o.batch = 1;
    o.cp = 1;
    o.sequence = tokens < CHUNK ? tokens : CHUNK;
    o.account = MT_ACCOUNT_PURE;
    o.lora = 0;
    o.eager = false;
    one.o = &o;
    struct layers_sum s = sum_layers(&one);
    uint64_t logits = mt_times(x, mt_times(x, x->o->batch, x->m->vocab), 6);
    struct mt_range r = {logits / 2, mt_plus(x, logits, s.largest.low),
                         mt_plus(x, mt_times(x, logits, 2), mt_times(x, s.largest.high, 2))};
    struct mt_estimate_term *t = mt_term_add(x, MT_TERM_ACTIVATIONS, r);
    snprintf(t->formula, sizeof t->formula,
             "one layer of %" PRIu64 " tokens at a time, and the logits of the last of each of "
             "%" PRIu64,
             o.sequence, x->o->batch);
    snprintf(t->doubt, sizeof t->doubt, "engines choose the tokens of a step (8192 assumed)");
}

void mt_add_activations(struct mt_summing *x)
{
    const struct mt_estimate_options *o = x->o;
    if (!o->batch || !o->sequence || !x->m->works.n || !x->m->hidden) {
        return;
    }
    if (o->inference) {
        add_chunk(x);
        return;
    }
    add_layers(x);
    add_logits(x);
}
