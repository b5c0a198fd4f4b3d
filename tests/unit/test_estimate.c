/* SPDX-License-Identifier: MIT */
/* The arithmetic of estimate, against figures worked out by hand. */
#include <stdlib.h>
#include <string.h>

#include "verbs/estimate/estimate.h"
#include "verbs/estimate/print.h"

#include "unit.h"

static struct mt_estimate_options o;
static struct mt_estimate e;

static void setup(void)
{
    mt_estimate_options_init(&o);
    o.model.params = UINT64_C(7000000000);
}

static uint64_t term(enum mt_estimate_id id)
{
    for (size_t i = 0; i < e.n; i++) {
        if (e.terms[i].id == id) {
            return e.terms[i].bytes;
        }
    }
    ck_abort_msg("term %s is missing", mt_estimate_term_name(id));
}

static void find(void)
{
    struct mt_error err;
    ck_assert_int_eq(mt_estimate_find(&e, &o, &err), MT_OK);
    uint64_t sum = 0;
    for (size_t i = 0; i < e.n; i++) {
        sum += e.terms[i].bytes;
        ck_assert_uint_le(e.terms[i].bytes, e.terms[e.largest].bytes);
        ck_assert_uint_gt(strlen(e.terms[i].formula), 0);
    }
    ck_assert_uint_eq(sum, e.total);
}

/* bf16 2 + bf16 2 + (fp32 4 + 4 + 4) = 16 bytes a parameter, 112 GB for 7 billion. */
START_TEST(mixed_adam)
{
    find();
    ck_assert_uint_eq(term(MT_TERM_WEIGHTS), UINT64_C(14000000000));
    ck_assert_uint_eq(term(MT_TERM_GRADIENTS), UINT64_C(14000000000));
    ck_assert_uint_eq(term(MT_TERM_OPTIMIZER), UINT64_C(84000000000));
    ck_assert_uint_eq(e.states_all, UINT64_C(112000000000));
    ck_assert_uint_eq(e.states, e.states_all);
}
END_TEST

/* dtype, optimizer, master copy, bytes a parameter of the optimizer and of all states */
static const struct {
    enum mt_dtype dtype;
    enum mt_optimizer optimizer;
    bool no_master;
    unsigned optimizer_bytes, all_bytes;
} states[] = {
    {MT_FP32, MT_OPTIMIZER_ADAM, false, 8, 16},     /* 4 + 4 + 8 */
    {MT_FP32, MT_OPTIMIZER_MOMENTUM, false, 4, 12}, /* 4 + 4 + 4 */
    {MT_FP32, MT_OPTIMIZER_SGD, false, 0, 8},       {MT_BF16, MT_OPTIMIZER_ADAM, true, 8, 12},
    {MT_BF16, MT_OPTIMIZER_ADAM8BIT, false, 6, 10}, {MT_BF16, MT_OPTIMIZER_ADAFACTOR, false, 4, 8},
};

START_TEST(optimizers)
{
    o.dtype = o.grad_dtype = states[_i].dtype;
    o.optimizer = states[_i].optimizer;
    o.no_master = states[_i].no_master;
    find();
    ck_assert_uint_eq(term(MT_TERM_OPTIMIZER), o.model.params * states[_i].optimizer_bytes);
    ck_assert_uint_eq(e.states_all, o.model.params * states[_i].all_bytes);
}
END_TEST

/* Stage 1 divides the optimizer by the ranks, 2 gradients too, 3 weights too. */
START_TEST(zero)
{
    o.zero = _i;
    o.ranks = 8;
    find();
    uint64_t p = o.model.params;
    ck_assert_uint_eq(term(MT_TERM_OPTIMIZER), _i >= 1 ? p * 12 / 8 : p * 12);
    ck_assert_uint_eq(term(MT_TERM_GRADIENTS), _i >= 2 ? p * 2 / 8 : p * 2);
    ck_assert_uint_eq(term(MT_TERM_WEIGHTS), _i >= 3 ? p * 2 / 8 : p * 2);
    ck_assert_uint_eq(e.states_all, 16 * p);
    static const uint64_t mine[] = {112, 38500, 26250, 14000}; /* MB but for the first */
    ck_assert_uint_eq(e.states, mine[_i] * UINT64_C(1000000) * (_i ? 1 : 1000));
}
END_TEST

/* An odd number of parameters over three ranks: the last byte is rounded up, none is lost. */
START_TEST(zero_rounds_up)
{
    o.model.params = 10;
    o.zero = 3;
    o.ranks = 3;
    find();
    ck_assert_uint_eq(term(MT_TERM_WEIGHTS), 7);    /* 20 / 3 */
    ck_assert_uint_eq(term(MT_TERM_OPTIMIZER), 40); /* 120 / 3 */
}
END_TEST

/* 2 x 32 x 8 x 128 x 4096 x 16 x 2 B = 8 GiB */
START_TEST(kv_cache)
{
    o.inference = true;
    o.model.layers = 32;
    o.model.kv_heads = 8;
    o.model.head_dim = 128;
    o.sequence = 4096;
    o.batch = 16;
    find();
    ck_assert_uint_eq(term(MT_TERM_KV_CACHE), UINT64_C(8) << 30);
    ck_assert_uint_eq(e.total, UINT64_C(14000000000) + (UINT64_C(8) << 30) + o.context);
    o.kv_dtype = MT_FP8;
    find();
    ck_assert_uint_eq(term(MT_TERM_KV_CACHE), UINT64_C(4) << 30);
}
END_TEST

/* 12 x 4 x 2048 x 4096 x 32 x 2 B = 24 GiB; 50 and 20 % of it with checkpointing. */
START_TEST(activations)
{
    static const uint64_t want[] = {25769803776, 12884901888, 5153960755};
    o.model.layers = 32;
    o.model.hidden = 4096;
    o.model.heads = 32;
    o.batch = 4;
    o.sequence = 2048;
    o.checkpointing = (enum mt_checkpointing)_i;
    find();
    ck_assert_uint_eq(term(MT_TERM_ACTIVATIONS), want[_i]);
    /* s b h L (34 + 5 a s/h) = 2048 x 4 x 4096 x 32 x (34 + 80) B = 114 GiB; without 80: 34 GiB */
    for (size_t i = 0; i < e.n; i++) {
        if (e.terms[i].id == MT_TERM_ACTIVATIONS) {
            ck_assert_ptr_nonnull(strstr(e.terms[i].doubt, "114.00 GiB, 34.00 GiB"));
            ck_assert_ptr_nonnull(strstr(e.terms[i].doubt, "2.00 GiB")); /* b s h L 2 B */
        }
    }
}
END_TEST

/* A fifth of what is reserved: a quarter of what is used. */
START_TEST(fragmentation)
{
    o.fragmentation = 0.2;
    o.workspace = 0;
    find();
    ck_assert_uint_eq(term(MT_TERM_FRAGMENTATION), UINT64_C(28000000000));
}
END_TEST

START_TEST(nothing_to_compute)
{
    struct mt_error err;
    o.model.params = 0;
    ck_assert_int_eq(mt_estimate_find(&e, &o, &err), MT_USAGE);
    ck_assert_str_ne(err.hint, "");
}
END_TEST

START_TEST(too_large)
{
    struct mt_error err;
    o.model.params = UINT64_C(1) << 62;
    ck_assert_int_eq(mt_estimate_find(&e, &o, &err), MT_LIMIT);
}
END_TEST

/* ---- parameters of published models ---- */

static const struct {
    const char *config;
    uint64_t params;
    enum mt_dtype dtype;
} configs[] = {
    /* Llama 2 7B */
    {"{\"model_type\":\"llama\",\"hidden_size\":4096,\"intermediate_size\":11008,"
     "\"num_hidden_layers\":32,\"num_attention_heads\":32,\"num_key_value_heads\":32,"
     "\"vocab_size\":32000,\"tie_word_embeddings\":false,\"torch_dtype\":\"float16\"}",
     6738415616, MT_FP16},
    /* Llama 3 8B: grouped keys and values */
    {"{\"model_type\":\"llama\",\"hidden_size\":4096,\"intermediate_size\":14336,"
     "\"num_hidden_layers\":32,\"num_attention_heads\":32,\"num_key_value_heads\":8,"
     "\"vocab_size\":128256,\"tie_word_embeddings\":false,\"torch_dtype\":\"bfloat16\"}",
     8030261248, MT_BF16},
    /* GPT-2: other names, biases, positions, tied output, no dtype */
    {"{\"model_type\":\"gpt2\",\"n_embd\":768,\"n_layer\":12,\"n_head\":12,\"n_positions\":1024,"
     "\"vocab_size\":50257}",
     124439808, MT_BF16},
    /* Mixtral 8x7B: experts and a router */
    {"{\"model_type\":\"mixtral\",\"hidden_size\":4096,\"intermediate_size\":14336,"
     "\"num_hidden_layers\":32,\"num_attention_heads\":32,\"num_key_value_heads\":8,"
     "\"num_local_experts\":8,\"vocab_size\":32000,\"tie_word_embeddings\":false}",
     46702792704, MT_BF16},
};

START_TEST(published_models)
{
    struct mt_model_shape m;
    struct mt_error err;
    enum mt_dtype dtype = MT_BF16;
    struct mt_str text = mt_str_from(configs[_i].config);
    ck_assert_int_eq(mt_model_config_read(text, &m, &dtype, &err), MT_OK);
    ck_assert(mt_model_shape_complete(&m));
    ck_assert_uint_eq(m.params, configs[_i].params);
    ck_assert_int_eq((int)dtype, (int)configs[_i].dtype);
}
END_TEST

static const char *const bad_configs[] = {
    "",
    "[]",
    "{}",
    "{\"hidden_size\":4096",
    "{\"hidden_size\":\"4096\",\"num_hidden_layers\":1,\"num_attention_heads\":1}",
    "{\"hidden_size\":-1,\"num_hidden_layers\":1,\"num_attention_heads\":1}",
    "{\"hidden_size\":1e300,\"num_hidden_layers\":1,\"num_attention_heads\":1}",
};

START_TEST(bad_config)
{
    struct mt_model_shape m;
    struct mt_error err;
    enum mt_dtype dtype = MT_BF16;
    ck_assert_int_eq(mt_model_config_read(mt_str_from(bad_configs[_i]), &m, &dtype, &err),
                     MT_FORMAT);
    ck_assert_str_ne(err.text, "");
}
END_TEST

START_TEST(cards)
{
    ck_assert_uint_eq(mt_card_find(MT_STR("H100")), UINT64_C(80) << 30);
    ck_assert_uint_eq(mt_card_find(MT_STR("a100-40")), UINT64_C(40) << 30);
    ck_assert_uint_eq(mt_card_find(MT_STR("h1000")), 0);
    for (size_t i = 0; MT_CARD_NAMES[i]; i++) {
        ck_assert_uint_gt(mt_card_find(mt_str_from(MT_CARD_NAMES[i])), 0);
    }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("estimate");
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, mixed_adam);
    tcase_add_loop_test(t, optimizers, 0, (int)MT_COUNT(states));
    tcase_add_loop_test(t, zero, 0, 4);
    tcase_add_test(t, zero_rounds_up);
    tcase_add_test(t, kv_cache);
    tcase_add_loop_test(t, activations, 0, 3);
    tcase_add_test(t, fragmentation);
    tcase_add_test(t, nothing_to_compute);
    tcase_add_test(t, too_large);
    tcase_add_loop_test(t, published_models, 0, (int)MT_COUNT(configs));
    tcase_add_loop_test(t, bad_config, 0, (int)MT_COUNT(bad_configs));
    tcase_add_test(t, cards);
    return unit_run_cases("estimate", t);
}
