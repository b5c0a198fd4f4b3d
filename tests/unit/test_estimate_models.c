/* SPDX-License-Identifier: MIT */
/* Models from their config.json: counts of published ones, what is refused, and every architecture
 * of the table. */
#include <stdio.h>
#include <string.h>

#include "verbs/estimate/model/parts.h"
#include "unit.h"

static const struct {
    const char *config;
    uint64_t params, active, bytes, kv; /* kv: elements of a token beyond all windows */
} published[] = {
#define MODEL(config, params, active, bytes, kv) {config, params, active, bytes, kv},
#include "estimate_models.def"
#undef MODEL
};

START_TEST(published_models)
{
    struct mt_model m;
    struct mt_error err;
    ck_assert_msg(mt_model_read(&m, mt_str_from(published[_i].config), NULL, &err) == MT_OK, "%s",
                  err.text);
    uint64_t kv = 0;
    for (size_t i = 0; i < m.caches.n; i++) {
        const struct mt_cache *c = &m.caches.v[i];
        kv += c->state || c->window ? 0 : c->heads * c->per_head;
    }
    ck_assert_uint_eq(m.params, published[_i].params);
    ck_assert_uint_eq(m.active, published[_i].active);
    ck_assert_uint_eq(m.counted, published[_i].bytes);
    ck_assert_uint_eq(kv, published[_i].kv);
    mt_model_release(&m);
}
END_TEST

static const struct {
    const char *config;
    enum mt_status status;
    const char *named; /* in the message */
} refused[] = {
    {"", MT_FORMAT, "JSON"},
    {"[]", MT_FORMAT, "JSON"},
    {"{}", MT_UNSUPPORTED, "model_type is missing"},
    {"{\"hidden_size\":4096", MT_FORMAT, "JSON"},
    {"{\"model_type\":\"nobody\"}", MT_UNSUPPORTED, "'nobody'"},
    {"{\"model_type\":\"llama\",\"hidden_size\":\"4096\"}", MT_FORMAT, "hidden_size"},
    {"{\"model_type\":\"llama\",\"hidden_size\":-7}", MT_FORMAT, "hidden_size"},
    {"{\"model_type\":\"llama\",\"hidden_size\":1e300}", MT_FORMAT, "hidden_size"},
    {"{\"model_type\":\"llama\",\"hidden_size\":1.5}", MT_FORMAT, "hidden_size"},
    {"{\"model_type\":\"llama\",\"num_attention_heads\":0}", MT_FORMAT, "divided"},
    {"{\"model_type\":\"llama\",\"num_hidden_layers\":5000}", MT_LIMIT, "5000 layers"},
    {"{\"model_type\":\"llama\",\"num_secret_experts\":8}", MT_UNSUPPORTED, "num_secret_experts"},
    {"{\"model_type\":\"gemma3\",\"text_config\":{\"kv_lora_rank\":8},\"vision_config\":{}}",
     MT_UNSUPPORTED, "text_config.kv_lora_rank"},
    {"{\"model_type\":\"llama\",\"quantization_config\":{\"quant_method\":\"new\"}}",
     MT_UNSUPPORTED, "'new'"},
    {"{\"model_type\":\"llava\",\"text_config\":3}", MT_FORMAT, "text_config"},
};

START_TEST(refused_configs)
{
    struct mt_model m;
    struct mt_error err;
    ck_assert_int_eq(mt_model_read(&m, mt_str_from(refused[_i].config), NULL, &err),
                     refused[_i].status);
    ck_assert_msg(strstr(err.text, refused[_i].named) != NULL, "%s", err.text);
}
END_TEST

/* Keys that change no size are no reason to refuse. */
START_TEST(harmless_keys)
{
    struct mt_model m;
    struct mt_error err;
    static const char config[] =
        "{\"model_type\":\"llama\",\"rope_theta\":1,\"bos_token_id\":1,\"attention_dropout\":0.1,"
        "\"pretraining_tp\":1,\"num_labels\":3,\"use_cache\":true,\"num_secret_experts\":null}";
    ck_assert_int_eq(mt_model_read(&m, mt_str_from(config), NULL, &err), MT_OK);
    mt_model_release(&m);
}
END_TEST

/* Each runs with the defaults of its class, or says which key is missing: none is wrong in itself.
 */
START_TEST(every_architecture)
{
    struct mt_arena a = {0};
    struct mt_str *names;
    size_t n;
    struct mt_error err;
    ck_assert_int_eq(mt_model_types(&a, &names, &n, &err), MT_OK);
    ck_assert_uint_gt(n, 90);
    for (size_t i = 0; i < n; i++) {
        static const char *const shapes[] = {
            "\"hybrid_override_pattern\":\"M*E-\"",
            "\"text_config\":{\"hidden_size\":4096},\"vision_config\":{},\"audio_config\":{}"};
        bool read = false;
        for (size_t k = 0; k < MT_COUNT(shapes); k++) {
            struct mt_model m;
            char config[200];
            snprintf(config, sizeof config, "{\"model_type\":\"%s\",%s}", names[i].p, shapes[k]);
            enum mt_status s = mt_model_read(&m, mt_str_from(config), NULL, &err);
            ck_assert_msg(s != MT_INTERNAL, "%s: %s", names[i].p, err.text);
            if (s == MT_OK) {
                read = true;
                mt_model_release(&m);
            }
        }
        ck_assert_msg(read, "%s: %s", names[i].p, err.text);
    }
    mt_arena_release(&a);
}
END_TEST

/* quantization_config, bytes of the one matrix of 4096 x 4096 in a layer */
static const struct {
    const char *quant;
    uint64_t bytes;
} stored[] = {
    {"{\"quant_method\":\"fp8\",\"weight_block_size\":[128,128]}", 16777216 + 4 * 1024},
    {"{\"quant_method\":\"awq\",\"bits\":4,\"group_size\":128}", 8388608 + 32 * 4096 * 20 / 8},
    {"{\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":128}",
     8388608 + 32 * 4096 * 20 / 8 + 4096 * 4},
    {"{\"load_in_8bit\":true}", 16777216 + 4096 * 4},
    {"{\"quant_method\":\"bitsandbytes\",\"load_in_4bit\":true}", 8388608 + 16777216 / 64 * 4},
    {"{\"quant_method\":\"bitsandbytes\",\"load_in_4bit\":true,"
     "\"bnb_4bit_use_double_quant\":true}",
     8388608 + 16777216 / 64 + 16777216 / 64 / 256 * 4},
    {"{\"quant_method\":\"compressed-tensors\",\"config_groups\":{\"group_0\":{\"weights\":"
     "{\"num_bits\":4,\"type\":\"int\",\"strategy\":\"group\",\"group_size\":32}}}}",
     8388608 + 128 * 4096 * 2},
    {"{\"quant_method\":\"awq\",\"modules_to_not_convert\":[\"self_attn\"]}", 33554432},
    {"{\"quant_method\":\"compressed-tensors\",\"ignore\":[\"re:.*q_proj.*\"],\"config_groups\":"
     "{\"group_0\":{\"weights\":{\"num_bits\":8}}}}",
     33554432},
};

START_TEST(quantized)
{
    struct mt_model m;
    struct mt_error err;
    char config[600];
    snprintf(config, sizeof config,
             "{\"model_type\":\"llama\",\"torch_dtype\":\"float16\",\"num_hidden_layers\":1,"
             "\"quantization_config\":%s}",
             stored[_i].quant);
    ck_assert_int_eq(mt_model_read(&m, mt_str_from(config), NULL, &err), MT_OK);
    for (size_t i = 0; i < m.parts.n; i++) {
        if (mt_str_equal(m.parts.v[i].name, MT_STR("self_attn.q_proj.weight"))) {
            ck_assert_uint_eq(mt_part_bytes(&m, &m.parts.v[i]), stored[_i].bytes);
        }
    }
    mt_model_release(&m);
}
END_TEST

START_TEST(index_size)
{
    struct mt_model m = {0};
    struct mt_error err;
    ck_assert_int_eq(mt_model_read_index(&m, MT_STR("{\"metadata\":{\"total_size\":123}}"), &err),
                     MT_OK);
    ck_assert_uint_eq(m.stored, 123);
    ck_assert_uint_eq(m.extra[MT_EXTRA_ROTARY], 0);
    m.layers = 2;
    m.tied = true;
    static const char index[] =
        "{\"metadata\":{\"total_size\":9},\"weight_map\":{\"model.layers.1.w\":\"a\","
        "\"model.layers.2.w\":\"a\",\"model.layers.2.v\":\"a\",\"lm_head.weight\":\"a\","
        "\"model.layers.0.self_attn.rotary_emb.inv_freq\":\"a\",\"h.0.attn.masked_bias\":\"a\"}}";
    ck_assert_int_eq(mt_model_read_index(&m, mt_str_from(index), &err), MT_OK);
    ck_assert_uint_eq(m.extra[MT_EXTRA_LAYERS], 2);
    ck_assert_uint_eq(m.extra[MT_EXTRA_HEAD], 1);
    ck_assert_uint_eq(m.extra[MT_EXTRA_ROTARY], 1);
    ck_assert_uint_eq(m.extra[MT_EXTRA_MASKS], 1);
    ck_assert_int_eq(mt_model_read_index(&m, MT_STR("{\"metadata\":{}}"), &err), MT_FORMAT);
    ck_assert_int_eq(mt_model_read_index(&m, MT_STR("[3"), &err), MT_FORMAT);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("estimate models");
    tcase_add_loop_test(t, published_models, 0, (int)MT_COUNT(published));
    tcase_add_loop_test(t, refused_configs, 0, (int)MT_COUNT(refused));
    tcase_add_test(t, harmless_keys);
    tcase_add_test(t, every_architecture);
    tcase_add_loop_test(t, quantized, 0, (int)MT_COUNT(stored));
    tcase_add_test(t, index_size);
    return unit_run_cases("estimate models", t);
}
