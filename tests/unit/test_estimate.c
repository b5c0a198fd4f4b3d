/* SPDX-License-Identifier: MIT */
/* The arithmetic of estimate, against figures worked out by hand. */
#include <stdlib.h>
#include <string.h>

#include "verbs/estimate/cards.h"
#include "verbs/estimate/estimate.h"
#include "verbs/estimate/turned.h"
#include "unit.h"

static struct mt_estimate_options o;
static struct mt_estimate e;
static struct mt_model m;

static void setup(void)
{
    mt_estimate_options_init(&o);
    memset(&m, 0, sizeof m);
}

static void teardown(void)
{
    mt_model_release(&m);
}

static void model_of(struct mt_model_given given)
{
    struct mt_error err;
    mt_model_release(&m);
    ck_assert_int_eq(mt_model_read(&m, (struct mt_str){"", 0}, &given, &err), MT_OK);
}

static void any_model(uint64_t params)
{
    model_of((struct mt_model_given){.params = params});
}

/* Llama 3 8B without its vocabulary. */
static void llama(void)
{
    model_of((struct mt_model_given){
        .layers = 32, .hidden = 4096, .heads = 32, .kv_heads = 8, .intermediate = 14336});
}

static uint64_t term(enum mt_estimate_id id)
{
    const struct mt_estimate_term *t = mt_estimate_term(&e, id);
    if (!t) {
        ck_abort_msg("term %s is missing", mt_estimate_term_name(id));
    }
    return t->bytes.middle;
}

static void find(void)
{
    struct mt_error err;
    ck_assert_int_eq(mt_estimate_find(&e, &m, &o, &err), MT_OK);
    uint64_t sum = 0;
    for (size_t i = 0; i < e.n; i++) {
        const struct mt_range *b = &e.terms[i].bytes;
        sum += b->middle;
        ck_assert_uint_le(b->low, b->middle);
        ck_assert_uint_le(b->middle, b->high);
        ck_assert_uint_gt(strlen(e.terms[i].formula), 0);
    }
    ck_assert_uint_eq(sum, e.total.middle);
    ck_assert_uint_le(e.total.low, e.total.middle);
    ck_assert_uint_le(e.total.middle, e.total.high);
}

/* dtype, account, optimizer: bytes a parameter of weights, gradients and optimizer */
static const struct {
    enum mt_dtype dtype;
    enum mt_account account;
    enum mt_optimizer optimizer;
    unsigned weights, gradients;
    double optimizer_bytes;
} states[] = {
    {MT_FP32, MT_ACCOUNT_MIXED, MT_OPTIMIZER_ADAM, 4, 4, 8},
    {MT_FP32, MT_ACCOUNT_PURE, MT_OPTIMIZER_ADAM, 4, 4, 8},
    {MT_BF16, MT_ACCOUNT_MIXED, MT_OPTIMIZER_ADAM, 2, 2, 12}, /* ZeRO: K = 12 */
    {MT_BF16, MT_ACCOUNT_AMP, MT_OPTIMIZER_ADAM, 4, 4, 8},
    {MT_BF16, MT_ACCOUNT_PURE, MT_OPTIMIZER_ADAM, 2, 2, 4}, /* zeros_like of bf16 */
    {MT_BF16, MT_ACCOUNT_MEGATRON, MT_OPTIMIZER_ADAM, 2, 4, 12},
    {MT_BF16, MT_ACCOUNT_NEMO, MT_OPTIMIZER_ADAM, 2, 6, 12},
    {MT_FP32, MT_ACCOUNT_PURE, MT_OPTIMIZER_MOMENTUM, 4, 4, 4},
    {MT_FP32, MT_ACCOUNT_PURE, MT_OPTIMIZER_SGD, 4, 4, 0},
    {MT_FP32, MT_ACCOUNT_PURE, MT_OPTIMIZER_LION, 4, 4, 4},
    {MT_BF16, MT_ACCOUNT_PURE, MT_OPTIMIZER_ADAM8BIT, 2, 2, 2 + 8.0 / 256},
    {MT_BF16, MT_ACCOUNT_MIXED, MT_OPTIMIZER_ADAM8BIT, 2, 2, 6 + 8.0 / 256},
};

START_TEST(accounts)
{
    uint64_t n = UINT64_C(256) << 20;
    any_model(n);
    mt_model_set_dtype(&m, states[_i].dtype, false);
    o.dtype = states[_i].dtype;
    o.account = states[_i].account;
    o.optimizer = states[_i].optimizer;
    find();
    ck_assert_uint_eq(term(MT_TERM_WEIGHTS), n * states[_i].weights);
    ck_assert_uint_eq(term(MT_TERM_GRADIENTS), n * states[_i].gradients);
    ck_assert_uint_eq(term(MT_TERM_OPTIMIZER), (uint64_t)((double)n * states[_i].optimizer_bytes));
    ck_assert_uint_eq(e.states, e.states_all);
}
END_TEST

/* Adafactor keeps a row and a column of each matrix, and all of a vector, in fp32. */
START_TEST(adafactor)
{
    model_of((struct mt_model_given){.layers = 1, .hidden = 64, .heads = 2, .intermediate = 256});
    o.optimizer = MT_OPTIMIZER_ADAFACTOR;
    o.account = MT_ACCOUNT_PURE;
    find();
    /* q, k, v, o: 64 + 64; gate, up, down: 64 + 256; three norms of 64 */
    ck_assert_uint_eq(term(MT_TERM_OPTIMIZER), 4 * (4 * 128 + 3 * 320 + 3 * 64));
}
END_TEST

/* Stage 1 divides the optimizer by the ranks, 2 gradients too, 3 weights too. */
START_TEST(zero)
{
    uint64_t p = UINT64_C(7000000000);
    any_model(p);
    o.zero = _i;
    o.ranks = 8;
    find();
    ck_assert_uint_eq(term(MT_TERM_OPTIMIZER), _i >= 1 ? p * 12 / 8 : p * 12);
    ck_assert_uint_eq(term(MT_TERM_GRADIENTS), _i >= 2 ? p * 2 / 8 : p * 2);
    ck_assert_uint_eq(term(MT_TERM_WEIGHTS), _i >= 3 ? p * 2 / 8 : p * 2);
    ck_assert_uint_eq(e.states_all, 16 * p);
}
END_TEST

START_TEST(zero_rounds_up)
{
    any_model(10);
    o.zero = 3;
    o.ranks = 3;
    find();
    ck_assert_uint_eq(term(MT_TERM_WEIGHTS), 7);    /* 20 / 3 */
    ck_assert_uint_eq(term(MT_TERM_OPTIMIZER), 40); /* 120 / 3 */
}
END_TEST

/* Tensor parallelism divides matrices, not norms; adapters add r (in + out) a matrix, in fp32. */
START_TEST(tensor_parallel)
{
    llama();
    uint64_t norms = 65 * 4096;
    o.inference = true;
    o.tp = 4;
    find();
    ck_assert_uint_eq(term(MT_TERM_WEIGHTS), 2 * ((m.params - norms) / 4 + norms));
}
END_TEST

START_TEST(adapters)
{
    llama();
    o.lora = 16;
    find();
    uint64_t a = 16 * (2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 14336)) * 32;
    ck_assert_uint_eq(e.trained, a);
    ck_assert_uint_eq(term(MT_TERM_WEIGHTS), 2 * m.params + 4 * a);
    ck_assert_uint_eq(term(MT_TERM_GRADIENTS), 4 * a);
    ck_assert_uint_eq(term(MT_TERM_OPTIMIZER), 8 * a);
}
END_TEST

/* 2 x 32 x 8 x 128 x 4096 x 16 x 2 B = 8 GiB */
START_TEST(kv_cache)
{
    llama();
    o.inference = true;
    o.sequence = 4096;
    o.batch = 16;
    find();
    ck_assert_uint_eq(term(MT_TERM_KV_CACHE), UINT64_C(8) << 30);
    o.kv_dtype = MT_FP8;
    find();
    ck_assert_uint_eq(term(MT_TERM_KV_CACHE), UINT64_C(4) << 30);
    o.tp = 16; /* 8 heads: one on each of 16 ranks, twice */
    o.page = 1000;
    find();
    ck_assert_uint_eq(term(MT_TERM_KV_CACHE), UINT64_C(2) * 32 * 128 * 5000 * 16);
}
END_TEST

/* Llama in bf16: 16 h + 4 a d + 4 k d + 8 f + 4 (a + 2) bytes a token and layer = 200,840; behind
 * the last layer a norm and the input of the output layer, 8 h + 4 = 32,772. */
START_TEST(activations)
{
    llama();
    o.batch = 2;
    o.sequence = 1024;
    find();
    ck_assert_uint_eq(term(MT_TERM_ACTIVATIONS), (UINT64_C(200840) * 32 + 32772) * 2048);
    o.recompute = MT_RECOMPUTE_FULL; /* inputs of 8192 bytes, and one layer */
    find();
    ck_assert_uint_eq(term(MT_TERM_ACTIVATIONS), (UINT64_C(8192) * 32 + 200840 + 32772) * 2048);
    o.pp = 4; /* 8 layers in 4 micro-batches at the first stage */
    o.recompute = MT_RECOMPUTE_NONE;
    find();
    ck_assert_uint_eq(term(MT_TERM_ACTIVATIONS), UINT64_C(200840) * 2048 * 32);
    ck_assert_uint_eq(e.stage, 0);
}
END_TEST

/* A fifth of what is reserved: a quarter of what is used. */
START_TEST(fragmentation)
{
    any_model(UINT64_C(7000000000));
    o.fragmentation = 0.2;
    o.workspace = 0;
    find();
    ck_assert_uint_eq(term(MT_TERM_FRAGMENTATION), UINT64_C(28000000000));
}
END_TEST

/* Matrices of 11 MiB lie in segments of 12, of which 1 MiB is not split off: weights, gradients and
 * two moments of three matrices a layer. */
START_TEST(unsplit_blocks)
{
    model_of(
        (struct mt_model_given){.layers = 2, .hidden = 1024, .heads = 16, .intermediate = 2816});
    mt_model_set_dtype(&m, MT_FP32, false);
    o.dtype = MT_FP32;
    o.account = MT_ACCOUNT_PURE;
    find();
    ck_assert_uint_eq(term(MT_TERM_FRAGMENTATION), 2 * 3 * 4 * (UINT64_C(1) << 20));
    o.inference = true;
    find();
    ck_assert_uint_eq(term(MT_TERM_FRAGMENTATION), 2 * 3 * (UINT64_C(1) << 20));
}
END_TEST

START_TEST(too_large)
{
    struct mt_error err;
    llama();
    o.batch = o.sequence = UINT64_C(1) << 30;
    ck_assert_int_eq(mt_estimate_find(&e, &m, &o, &err), MT_LIMIT);
}
END_TEST

/* What is said to fit, fits, and one more does not. */
START_TEST(turned_round)
{
    struct mt_turned t;
    struct mt_error err;
    llama();
    o.inference = true;
    o.sequence = 4096;
    o.batch = 1;
    o.card = mt_card_find(MT_STR("H100"))->bytes;
    ck_assert_int_eq(mt_turned_find(&t, &m, &o, &err), MT_OK);
    ck_assert(t.counted);
    ck_assert_uint_le(t.batch.surely, t.batch.perhaps);
    o.batch = t.batch.surely;
    find();
    ck_assert_uint_le(e.total.high, o.card);
    o.batch++;
    find();
    ck_assert_uint_gt(e.total.high, o.card);
    ck_assert_str_eq(t.smallest->name, "l4");
}
END_TEST

START_TEST(verdicts)
{
    struct mt_range r = {10, 20, 30};
    ck_assert_int_eq(mt_estimate_verdict(&r, 30), MT_VERDICT_FITS);
    ck_assert_int_eq(mt_estimate_verdict(&r, 29), MT_VERDICT_TIGHT);
    ck_assert_int_eq(mt_estimate_verdict(&r, 10), MT_VERDICT_TIGHT);
    ck_assert_int_eq(mt_estimate_verdict(&r, 9), MT_VERDICT_NOT);
}
END_TEST

START_TEST(cards)
{
    ck_assert_ptr_nonnull(mt_card_find(MT_STR("H100")));
    ck_assert_ptr_null(mt_card_find(MT_STR("h1000")));
    ck_assert_ptr_null(mt_card_find(MT_STR("h10")));
    for (size_t i = 1; i < MT_CARDS_N; i++) {
        ck_assert_uint_ge(MT_CARDS[i].bytes, MT_CARDS[i - 1].bytes);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("estimate");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, accounts, 0, (int)MT_COUNT(states));
    tcase_add_test(t, adafactor);
    tcase_add_loop_test(t, zero, 0, 4);
    tcase_add_test(t, zero_rounds_up);
    tcase_add_test(t, tensor_parallel);
    tcase_add_test(t, adapters);
    tcase_add_test(t, kv_cache);
    tcase_add_test(t, activations);
    tcase_add_test(t, fragmentation);
    tcase_add_test(t, unsplit_blocks);
    tcase_add_test(t, too_large);
    tcase_add_test(t, turned_round);
    tcase_add_test(t, verdicts);
    tcase_add_test(t, cards);
    return unit_run_cases("estimate", t);
}
