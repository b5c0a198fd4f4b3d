/* SPDX-License-Identifier: MIT */
/* The shape of a transformer from its config.json: each figure goes by several names, the first
 * that is there counts. */
#include "verbs/estimate/print.h"

#include <string.h>

#include <cjson/cJSON.h>

/* Larger than any model's figure, small enough that products of four fit 64 bits mostly. */
#define FIGURE_MAX 2147483647.0

static const struct {
    size_t offset;
    const char *names[8];
} figures[] = {
    {offsetof(struct mt_model_shape, layers),
     {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}},
    {offsetof(struct mt_model_shape, hidden), {"hidden_size", "n_embd", "d_model", "dim"}},
    {offsetof(struct mt_model_shape, heads),
     {"num_attention_heads", "n_head", "n_heads", "num_heads"}},
    {offsetof(struct mt_model_shape, kv_heads),
     {"num_key_value_heads", "n_kv_heads", "num_kv_heads"}},
    {offsetof(struct mt_model_shape, head_dim), {"head_dim", "d_kv"}},
    {offsetof(struct mt_model_shape, intermediate),
     {"intermediate_size", "n_inner", "ffn_dim", "d_ff", "ffn_hidden_size"}},
    {offsetof(struct mt_model_shape, vocab), {"vocab_size"}},
    {offsetof(struct mt_model_shape, experts),
     {"num_local_experts", "num_experts", "n_routed_experts"}},
};

static const cJSON *first_of(const cJSON *object, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n && names[i]; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, names[i]);
        if (item && !cJSON_IsNull(item)) {
            return item;
        }
    }
    return NULL;
}

static enum mt_status read_figures(const cJSON *config, struct mt_model_shape *m,
                                   struct mt_error *err)
{
    for (size_t i = 0; i < MT_COUNT(figures); i++) {
        const cJSON *item = first_of(config, figures[i].names, MT_COUNT(figures[i].names));
        if (!item) {
            continue;
        }
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > FIGURE_MAX) {
            return mt_fail(err, MT_FORMAT, MT_NO_OFFSET,
                           "%s: expected a number from 0 to 2147483647", item->string);
        }
        uint64_t figure = (uint64_t)item->valuedouble;
        memcpy((char *)m + figures[i].offset, &figure, sizeof figure);
    }
    return MT_OK;
}

static bool is_one_of(const char *text, const char *const *words)
{
    for (; text && *words; words++) {
        if (strcmp(text, *words) == 0) {
            return true;
        }
    }
    return false;
}

/* What a config does not say is known by the kind of model: whether an MLP has two or three
 * matrices, biases, a table of positions, an output layer of its own. */
static void read_kind(const cJSON *config, struct mt_model_shape *m)
{
    static const char *const classic[] = {
        "gpt2",       "gpt_neo",     "gpt_neox", "gptj",       "opt",     "bloom",  "bert",
        "roberta",    "gpt_bigcode", "phi",      "starcoder2", "codegen", "falcon", "mpt",
        "distilbert", "electra",     "biogpt",   "xglm",       NULL};
    static const char *const tied[] = {"gpt2", "opt",    "bloom", "gpt_bigcode", "gemma", "gemma2",
                                       "mpt",  "falcon", "bert",  "roberta",     NULL};
    static const char *const positions[] = {"gpt2", "opt", "bert", "roberta", "gpt_bigcode", NULL};
    static const char *const table[] = {"n_positions", "max_position_embeddings"};
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(config, "model_type"));
    const cJSON *tie = cJSON_GetObjectItemCaseSensitive(config, "tie_word_embeddings");
    bool is_classic = is_one_of(type, classic);
    m->gated = !is_classic;
    m->biased = is_classic;
    m->tied = cJSON_IsBool(tie) ? cJSON_IsTrue(tie) != 0 : is_one_of(type, tied);
    const cJSON *rows = first_of(config, table, MT_COUNT(table));
    if (is_one_of(type, positions) && cJSON_IsNumber(rows) && rows->valuedouble >= 0 &&
        rows->valuedouble <= FIGURE_MAX) {
        m->positions = (uint64_t)rows->valuedouble;
    }
    const cJSON *expert_mlp = cJSON_GetObjectItemCaseSensitive(config, "moe_intermediate_size");
    if (m->experts && cJSON_IsNumber(expert_mlp) && expert_mlp->valuedouble > 0 &&
        expert_mlp->valuedouble <= FIGURE_MAX) {
        m->intermediate = (uint64_t)expert_mlp->valuedouble;
    }
}

static void read_dtype(const cJSON *config, enum mt_dtype *dtype)
{
    static const struct {
        const char *name;
        enum mt_dtype dtype;
    } known[] = {{"float32", MT_FP32},
                 {"bfloat16", MT_BF16},
                 {"float16", MT_FP16},
                 {"float8_e4m3fn", MT_FP8}};
    static const char *const names[] = {"torch_dtype", "dtype"};
    const char *text = cJSON_GetStringValue(first_of(config, names, MT_COUNT(names)));
    for (size_t i = 0; text && i < MT_COUNT(known); i++) {
        if (strcmp(text, known[i].name) == 0) {
            *dtype = known[i].dtype;
        }
    }
}

enum mt_status mt_model_config_read(struct mt_str text, struct mt_model_shape *m,
                                    enum mt_dtype *dtype, struct mt_error *err)
{
    static const char *const parts[] = {"text_config", "llm_config", "language_config"};
    cJSON *root = cJSON_ParseWithLength(text.p, text.n);
    if (!cJSON_IsObject(root)) {
        cJSON_Delete(root);
        return mt_fail(err, MT_FORMAT, MT_NO_OFFSET, "not a config.json (no JSON object)");
    }
    const cJSON *config = first_of(root, parts, MT_COUNT(parts));
    config = cJSON_IsObject(config) ? config : root;
    *m = (struct mt_model_shape){0};
    enum mt_status status = read_figures(config, m, err);
    if (status == MT_OK) {
        read_kind(config, m);
        read_dtype(root, dtype);
        read_dtype(config, dtype);
    }
    if (status == MT_OK && (!m->layers || !m->hidden || !m->heads)) {
        status =
            mt_fail(err, MT_FORMAT, MT_NO_OFFSET,
                    "no transformer in it: it names no number of layers, hidden size or heads");
    }
    cJSON_Delete(root);
    return status;
}
