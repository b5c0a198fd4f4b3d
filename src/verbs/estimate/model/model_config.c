/* SPDX-License-Identifier: MIT */
/* A model from its config.json: its lists by architectures/, how it is stored by dtype and
 * quantization_config, and the sums over them. */
#include "verbs/estimate/model/parts.h"

#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "support/checked.h"
#include "support/mem.h"

#include "verbs/estimate/model/arch_run.h"
#include "verbs/estimate/model/quant.h"

static const struct {
    const char *name;
    unsigned bits;
} dtypes[] = {[MT_FP32] = {"fp32", 32}, [MT_BF16] = {"bf16", 16}, [MT_FP16] = {"fp16", 16},
              [MT_FP8] = {"fp8", 8},    [MT_INT8] = {"int8", 8},  [MT_INT4] = {"int4", 4},
              [MT_NF4] = {"nf4", 4}};

unsigned mt_dtype_bits(enum mt_dtype d)
{
    return dtypes[d].bits;
}

const char *mt_dtype_name(enum mt_dtype d)
{
    return dtypes[d].name;
}

void mt_model_release(struct mt_model *m)
{
    mt_arena_release(&m->text);
    mt_vec_release(&m->parts);
    mt_vec_release(&m->caches);
    mt_vec_release(&m->works);
}

/* a x b, UINT64_MAX when that does not fit. */
static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return mt_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t elements_of(const struct mt_part *p, uint64_t copies)
{
    uint64_t n = copies;
    for (size_t i = 0; i < p->n_dims; i++) {
        n = times(n, p->dims[i]);
    }
    return n;
}

uint64_t mt_part_elements(const struct mt_part *p)
{
    return elements_of(p, p->count);
}

void mt_part_name(struct mt_buf *b, const struct mt_part *p, bool star)
{
    mt_buf_str(b, p->where);
    if (p->where.n > 0) {
        mt_buf_char(b, '.');
    }
    if (p->layer != MT_NO_LAYER && star) {
        mt_buf_text(b, "*.");
    } else if (p->layer != MT_NO_LAYER) {
        mt_buf_printf(b, "%u.", p->layer);
    }
    mt_buf_str(b, p->name);
}

/* ---- sums ---- */

static enum mt_status add_up(struct mt_model *m, struct mt_error *err)
{
    for (size_t i = 0; i < m->parts.n; i++) {
        const struct mt_part *p = &m->parts.v[i];
        m->counted = mt_add_sat(m->counted, mt_part_bytes(m, p));
        if (p->kind == MT_PART_BUFFER) {
            continue;
        }
        m->params = mt_add_sat(m->params, elements_of(p, p->count));
        m->active = mt_add_sat(m->active, elements_of(p, p->active));
    }
    /* 8 bytes of each must fit 64 bits */
    return m->params >> 58 ? mt_fail(err, MT_LIMIT, MT_NO_OFFSET, "more than 2^58 parameters")
                           : MT_OK;
}

/* ---- reading ---- */

static cJSON *item_of(const cJSON *object, const char *name)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

/* The part that makes text, where the config has several. */
static cJSON *text_part(cJSON *root)
{
    static const char *const names[] = {"text_config", "llm_config", "language_config",
                                        "thinker_config"};
    for (size_t i = 0; i < MT_COUNT(names); i++) {
        cJSON *part = item_of(root, names[i]);
        if (cJSON_IsObject(part)) {
            return part;
        }
    }
    return root;
}

static void read_dtype(struct mt_model *m, const cJSON *config)
{
    static const struct {
        const char *name;
        enum mt_dtype dtype;
    } known[] = {{"float32", MT_FP32},
                 {"bfloat16", MT_BF16},
                 {"float16", MT_FP16},
                 {"float8_e4m3fn", MT_FP8}};
    static const char *const keys[] = {"torch_dtype", "dtype"};
    for (size_t k = 0; k < MT_COUNT(keys); k++) {
        const char *text = cJSON_GetStringValue(item_of(config, keys[k]));
        text = text && strncmp(text, "torch.", 6) == 0 ? text + 6 : text;
        for (size_t i = 0; text && i < MT_COUNT(known); i++) {
            if (strcmp(text, known[i].name) == 0) {
                m->dtype = known[i].dtype;
                m->dtype_said = true;
            }
        }
    }
}

static enum mt_status read_root(struct mt_model *m, cJSON *root, struct mt_error *err)
{
    const char *type = cJSON_GetStringValue(item_of(root, "model_type"));
    const cJSON *text = text_part(root), *quant = item_of(root, "quantization_config");
    m->dtype = MT_FP32; /* what transformers makes where nothing is said */
    read_dtype(m, text);
    read_dtype(m, root);
    /* mamba_ssm's own configs have no model_type */
    type = type ? type : item_of(root, "ssm_cfg") && item_of(root, "d_model") ? "mamba" : "";
    m->type = mt_arena_copy(&m->text, type, strlen(type));
    if (!m->type.p) {
        return mt_fail_nomem(err);
    }
    MT_TRY(mt_arch_run(m, root, m->type, err));
    quant = cJSON_IsObject(quant) ? quant : item_of(text, "quantization_config");
    quant = cJSON_IsObject(quant) ? quant : item_of(root, "compression_config");
    MT_TRY(mt_quant_read(m, quant, err));
    return add_up(m, err);
}

/* Python writes Infinity and NaN, which JSON has not: the same length of blanks and a 0. */
static void mend_numbers(char *text, size_t n)
{
    static const char *const words[] = {"Infinity", "NaN"};
    bool inside = false;
    for (size_t i = 0; i < n; i++) {
        inside ^= text[i] == '"' && (i == 0 || text[i - 1] != '\\');
        for (size_t w = 0; !inside && w < MT_COUNT(words); w++) {
            size_t k = strlen(words[w]);
            if (k <= n - i && memcmp(text + i, words[w], k) == 0) {
                memset(text + i, ' ', k);
                text[i] = '0';
            }
        }
    }
}

static cJSON *parse(struct mt_str config)
{
    cJSON *root = cJSON_ParseWithLength(config.p, config.n);
    char *copy = root ? NULL : mt_mem_alloc(config.n, 1);
    if (copy) {
        memcpy(copy, config.p, config.n);
        mend_numbers(copy, config.n);
        root = cJSON_ParseWithLength(copy, config.n);
        mt_mem_free(copy);
    }
    return root;
}

/* ---- figures given beside the config ---- */

static const struct {
    size_t offset; /* in struct mt_model_given */
    const char *names[6];
} givens[] = {
    {offsetof(struct mt_model_given, layers),
     {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}},
    {offsetof(struct mt_model_given, hidden), {"hidden_size", "n_embd", "d_model", "n_embed"}},
    {offsetof(struct mt_model_given, heads),
     {"num_attention_heads", "n_head", "n_heads", "num_heads"}},
    {offsetof(struct mt_model_given, kv_heads), {"num_key_value_heads", "num_kv_heads"}},
    {offsetof(struct mt_model_given, head_dim), {"head_dim", "d_kv"}},
    {offsetof(struct mt_model_given, intermediate),
     {"intermediate_size", "n_inner", "ffn_dim", "d_ff", "ffn_hidden_size"}},
    {offsetof(struct mt_model_given, vocab), {"vocab_size"}},
};

static uint64_t given_of(const struct mt_model_given *g, size_t i)
{
    uint64_t n;
    memcpy(&n, (const char *)g + givens[i].offset, sizeof n);
    return n;
}

/* Puts what is given under the name that the config has for it. False: no memory. */
static bool put_givens(cJSON *config, const struct mt_model_given *g)
{
    for (size_t i = 0; i < MT_COUNT(givens); i++) {
        const char *name = givens[i].names[0];
        for (size_t k = 0; k < MT_COUNT(givens[i].names) && givens[i].names[k]; k++) {
            name = item_of(config, givens[i].names[k]) ? givens[i].names[k] : name;
        }
        if (given_of(g, i) == 0) {
            continue;
        }
        cJSON_DeleteItemFromObjectCaseSensitive(config, name);
        if (!cJSON_AddNumberToObject(config, name, (double)given_of(g, i))) {
            return false;
        }
    }
    return true;
}

/* The shape of Llama, of which only what is given is known. */
static cJSON *given_config(const struct mt_model_given *g)
{
    cJSON *config = cJSON_CreateObject();
    bool shape = g->layers && (g->hidden || g->kv_heads);
    bool ok = config && cJSON_AddStringToObject(config, "model_type", shape ? "llama" : "_given") &&
              cJSON_AddStringToObject(config, "torch_dtype", "bfloat16") &&
              cJSON_AddNumberToObject(config, "vocab_size", 0) &&
              (!shape || !g->hidden || g->intermediate ||
               cJSON_AddNumberToObject(config, "intermediate_size", 4.0 * (double)g->hidden));
    if (ok && shape && !g->heads) {
        ok = cJSON_AddNumberToObject(config, "num_attention_heads",
                                     g->kv_heads ? (double)g->kv_heads : 1);
    }
    if (!ok) {
        cJSON_Delete(config);
        return NULL;
    }
    return config;
}

/* Any number of parameters, as if they were one row of a matrix: what groups of a row share is then
 * what it is in matrices, and what a row has is next to nothing. */
static enum mt_status take_params(struct mt_model *m, uint64_t params, struct mt_error *err)
{
    struct mt_part all = {.kind = MT_PART_LINEAR,
                          .n_dims = 2,
                          .dims = {1, params},
                          .count = 1,
                          .active = 1,
                          .layer = MT_NO_LAYER,
                          .where = MT_STR(""),
                          .name = MT_STR("parameters")};
    if (params == 0) {
        return MT_OK;
    }
    m->parts.n = 0;
    m->params = m->active = 0;
    m->counted = 0;
    return mt_vec_push(&m->parts, all) ? add_up(m, err) : mt_fail_nomem(err);
}

static enum mt_status read_all(struct mt_model *m, cJSON *root, const struct mt_model_given *given,
                               struct mt_error *err)
{
    cJSON *text = text_part(root);
    if (!cJSON_IsObject(root)) {
        return mt_fail(err, MT_FORMAT, MT_NO_OFFSET, "not a config.json (no JSON object)");
    }
    if (given && !put_givens(text, given)) {
        return mt_fail_nomem(err);
    }
    MT_TRY(read_root(m, root, err));
    return given ? take_params(m, given->params, err) : MT_OK;
}

enum mt_status mt_model_read(struct mt_model *m, struct mt_str config,
                             const struct mt_model_given *given, struct mt_error *err)
{
    *m = (struct mt_model){0};
    bool text = config.n || !given;
    cJSON *root = text ? parse(config) : given_config(given);
    enum mt_status status = root || text ? read_all(m, root, given, err) : mt_fail_nomem(err);
    cJSON_Delete(root);
    if (status != MT_OK) {
        mt_model_release(m);
    }
    return status;
}

void mt_model_set_dtype(struct mt_model *m, enum mt_dtype dtype, bool twice)
{
    if (mt_dtype_bits(dtype) < 16) {
        mt_quant_force(m, dtype, twice);
    } else {
        m->quant = (struct mt_quant){0};
        m->dtype = dtype;
        m->dtype_said = true;
    }
    m->stored = 0; /* the files hold something else */
    m->counted = 0;
    for (size_t i = 0; i < m->parts.n; i++) {
        m->counted = mt_add_sat(m->counted, mt_part_bytes(m, &m->parts.v[i]));
    }
}
