/* SPDX-License-Identifier: MIT */
/*
 * How quantization stores matrices: which ones, in how many bits, and with which scales beside
 * them. Sources: the layouts of the checkpoints that each method writes (AutoAWQ and AutoGPTQ:
 * qweight, qzeros, scales, g_idx; compressed-tensors: config_groups; OCP Microscaling 1.0 for
 * mxfp4: a shared byte for 32 elements; NVFP4: an fp8 scale for 16).
 */
#include "verbs/estimate/model/quant.h"

#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "support/checked.h"

static const cJSON *item_of(const cJSON *object, const char *name)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

static bool is_text(const cJSON *object, const char *name, const char *text)
{
    const char *s = cJSON_GetStringValue(item_of(object, name));
    return s && strcmp(s, text) == 0;
}

static int64_t number(const cJSON *object, const char *const *names, int64_t otherwise)
{
    for (; *names; names++) {
        const cJSON *item = item_of(object, *names);
        if (cJSON_IsNumber(item) && item->valuedouble >= -1 && item->valuedouble <= 65536) {
            return (int64_t)item->valuedouble;
        }
    }
    return otherwise;
}

static int64_t number1(const cJSON *object, const char *name, int64_t otherwise)
{
    return number(object, (const char *const[]){name, NULL}, otherwise);
}

/* ---- methods ---- */

static void set_group(struct mt_quant *q, int64_t group, double bits)
{
    q->group = group > 0 ? (uint64_t)group : 0;
    q->group_bits = bits;
    q->row_bits = group > 0 ? 0 : (unsigned)bits; /* -1: a whole row */
}

static bool read_fp8(struct mt_quant *q, const cJSON *c)
{
    const cJSON *block = item_of(c, "weight_block_size");
    q->bits = 8;
    if (cJSON_GetArraySize(block) != 2) {
        q->block[0] = q->block[1] = UINT32_MAX; /* one scale for the tensor */
        return true;
    }
    for (int i = 0; i < 2; i++) {
        const cJSON *n = cJSON_GetArrayItem(block, i);
        if (!cJSON_IsNumber(n) || n->valuedouble < 1 || n->valuedouble > 65536) {
            return false;
        }
        q->block[i] = (uint64_t)n->valuedouble;
    }
    return true;
}

static bool read_row_fp8(struct mt_quant *q, const cJSON *c)
{
    (void)c;
    q->bits = 8;
    q->row_bits = 32;
    return true;
}

static bool read_awq(struct mt_quant *q, const cJSON *c)
{
    static const char *const bits[] = {"bits", "w_bit", NULL};
    static const char *const group[] = {"group_size", "q_group_size", NULL};
    q->bits = (unsigned)number(c, bits, 4);
    set_group(q, number(c, group, 128), 16 + q->bits);
    return q->bits >= 1 && q->bits <= 8;
}

static bool read_gptq(struct mt_quant *q, const cJSON *c)
{
    int64_t bits = number1(c, "bits", 4);
    q->bits = (unsigned)bits;
    set_group(q, number1(c, "group_size", 128), 16 + q->bits);
    q->column_bits = 32;
    return bits >= 2 && bits <= 8;
}

static void set_nf4(struct mt_quant *q, bool twice)
{
    q->bits = 4;
    q->group = 64;
    q->group_bits = twice ? 8 + 32.0 / 256 : 32;
}

static bool read_bitsandbytes(struct mt_quant *q, const cJSON *c)
{
    if (cJSON_IsTrue(item_of(c, "load_in_4bit")) || cJSON_IsTrue(item_of(c, "_load_in_4bit"))) {
        set_nf4(q, cJSON_IsTrue(item_of(c, "bnb_4bit_use_double_quant")));
        return true;
    }
    q->bits = 8;
    q->row_bits = 32;
    return cJSON_IsTrue(item_of(c, "load_in_8bit")) || cJSON_IsTrue(item_of(c, "_load_in_8bit"));
}

static bool read_mxfp4(struct mt_quant *q, const cJSON *c)
{
    (void)c;
    q->bits = 4;
    q->group = 32;
    q->group_bits = 8;
    q->experts_only = true;
    return true;
}

static bool read_eetq(struct mt_quant *q, const cJSON *c)
{
    (void)c;
    q->bits = 8;
    q->row_bits = 16;
    return true;
}

/* compressed-tensors: the first group tells */
static bool read_compressed(struct mt_quant *q, const cJSON *c)
{
    const cJSON *group = item_of(c, "config_groups");
    const cJSON *weights = item_of(group ? group->child : NULL, "weights");
    int64_t bits = number1(weights, "num_bits", 0);
    bool fp4 = bits == 4 && is_text(weights, "type", "float");
    q->bits = (unsigned)bits;
    if (is_text(weights, "strategy", "channel")) {
        q->row_bits = 16;
    } else if (is_text(weights, "strategy", "block")) {
        const cJSON *block = item_of(weights, "block_structure");
        for (int i = 0; i < 2; i++) {
            const cJSON *n = cJSON_GetArrayItem(block, i);
            q->block[i] = cJSON_IsNumber(n) && n->valuedouble >= 1 && n->valuedouble <= 65536
                              ? (uint64_t)n->valuedouble
                              : 128;
        }
    } else if (number1(weights, "group_size", 0) > 0) {
        set_group(q, number1(weights, "group_size", 128), fp4 ? 8 : 16);
    }
    return bits >= 2 && bits <= 8;
}

/* NVIDIA's ModelOpt */
static bool read_modelopt(struct mt_quant *q, const cJSON *c)
{
    const cJSON *inner = item_of(c, "quantization");
    c = inner ? inner : c;
    if (is_text(c, "quant_algo", "NVFP4")) {
        q->bits = 4;
        set_group(q, number1(c, "group_size", 16), 8);
        return true;
    }
    q->bits = 8;
    q->block[0] = q->block[1] = UINT32_MAX;
    return is_text(c, "quant_algo", "FP8");
}

static const struct {
    const char *method, *name;
    bool (*read)(struct mt_quant *q, const cJSON *c); /* false: a value that is not known */
} methods[] = {
    {"fp8", "fp8", read_fp8},
    {"fbgemm_fp8", "fp8", read_row_fp8},
    {"awq", "awq", read_awq},
    {"gptq", "gptq", read_gptq},
    {"bitsandbytes", "bitsandbytes", read_bitsandbytes},
    {"mxfp4", "mxfp4", read_mxfp4},
    {"eetq", "eetq", read_eetq},
    {"compressed-tensors", "compressed-tensors", read_compressed},
    {"modelopt", "modelopt", read_modelopt},
};

/* ---- names that stay as they are ---- */

static enum mt_status read_skip(struct mt_model *m, const cJSON *c, struct mt_error *err)
{
    static const char *const keys[] = {"modules_to_not_convert", "ignore", "ignored_layers",
                                       "llm_int8_skip_modules", "exclude_modules"};
    const cJSON *list = NULL;
    for (size_t i = 0; i < MT_COUNT(keys); i++) {
        const cJSON *item = item_of(c, keys[i]);
        list = cJSON_IsArray(item) ? item : list;
    }
    size_t n = (size_t)cJSON_GetArraySize(list);
    if (n == 0) {
        return MT_OK;
    }
    m->quant.skip = mt_arena_alloc(&m->text, n * sizeof *m->quant.skip);
    if (!m->quant.skip) {
        return mt_fail_nomem(err);
    }
    for (const cJSON *s = list->child; s; s = s->next) {
        if (cJSON_IsString(s)) {
            struct mt_str copy = mt_arena_copy(&m->text, s->valuestring, strlen(s->valuestring));
            if (!copy.p) {
                return mt_fail_nomem(err);
            }
            m->quant.skip[m->quant.n_skip++] = copy;
        }
    }
    return MT_OK;
}

/* A pattern with at most a handful of stars, anywhere in the name. */
static bool glob(const char *name, const char *pattern)
{
    const char *star = strchr(pattern, '*');
    size_t n = star ? (size_t)(star - pattern) : strlen(pattern);
    for (const char *at = name;; at++) {
        if (strncmp(at, pattern, n) == 0 && (!star || glob(at + n, star + 1))) {
            return true;
        }
        if (!*at) {
            return false;
        }
    }
}

static size_t stars(const char *pattern)
{
    size_t n = 0;
    for (; *pattern; pattern++) {
        n += *pattern == '*';
    }
    return n;
}

/* What could take long is no pattern that a program writes: it matches nothing. */
static bool matches(const char *name, const char *pattern)
{
    regex_t re;
    if (stars(pattern) > 8 || strlen(pattern) > 200) {
        return false;
    }
    if (strncmp(pattern, "re:", 3) != 0) {
        return strchr(pattern, '*') ? glob(name, pattern) : strstr(name, pattern) != NULL;
    }
    if (strchr(pattern, '{') || regcomp(&re, pattern + 3, REG_EXTENDED | REG_NOSUB) != 0) {
        return false;
    }
    bool yes = regexec(&re, name, 0, NULL, 0) == 0;
    regfree(&re);
    return yes;
}

enum { PLAIN_MOST = 2048, SKIPS_MOST = 64 }; /* tried on each name, without and with stars */

static bool skipped(const struct mt_model *m, const struct mt_part *p)
{
    char name[256];
    int n = p->layer == MT_NO_LAYER ? snprintf(name, sizeof name, "%.*s.%.*s", (int)p->where.n,
                                               p->where.p, (int)p->name.n, p->name.p)
                                    : snprintf(name, sizeof name, "%.*s.%u.%.*s", (int)p->where.n,
                                               p->where.p, p->layer, (int)p->name.n, p->name.p);
    for (size_t i = 0; n > 0 && i < m->quant.n_skip; i++) {
        bool plain = !strchr(m->quant.skip[i].p, '*');
        if (i < (plain ? PLAIN_MOST : SKIPS_MOST) && matches(name, m->quant.skip[i].p)) {
            return true;
        }
    }
    return false;
}

bool mt_part_quantized(const struct mt_model *m, const struct mt_part *p)
{
    return m->quant.method && p->kind == MT_PART_LINEAR && (!m->quant.experts_only || p->expert) &&
           !skipped(m, p);
}

/* ---- bytes ---- */

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* Bytes of one matrix; double: exact below 2^53 bits, and so are all that a card holds. */
static double quantized_bytes(const struct mt_quant *q, uint64_t rows, uint64_t columns)
{
    double r = (double)rows, c = (double)columns;
    double bytes = ceil(r * c * q->bits / 8);
    if (q->group) {
        bytes += ceil((double)ceil_div(columns, q->group) * r * q->group_bits / 8);
    }
    if (q->block[0]) {
        bytes += 4.0 * (double)ceil_div(rows, q->block[0]) * (double)ceil_div(columns, q->block[1]);
    }
    return bytes + r * q->row_bits / 8 + c * q->column_bits / 8;
}

uint64_t mt_part_bytes(const struct mt_model *m, const struct mt_part *p)
{
    uint64_t n = mt_part_elements(p), bytes;
    if (!mt_part_quantized(m, p)) {
        unsigned bits = p->kind == MT_PART_BUFFER ? 32 : mt_dtype_bits(m->dtype);
        return mt_mul_overflow(n, bits / 8, &bytes) ? UINT64_MAX : bytes;
    }
    double one = quantized_bytes(&m->quant, p->dims[0], p->dims[1]);
    double all = one * (double)p->count;
    return all < 1e19 ? (uint64_t)one * p->count : UINT64_MAX;
}

/* ---- from outside ---- */

enum mt_status mt_quant_read(struct mt_model *m, const cJSON *config, struct mt_error *err)
{
    if (!cJSON_IsObject(config)) {
        return MT_OK;
    }
    const char *method = cJSON_GetStringValue(item_of(config, "quant_method"));
    bool first = item_of(config, "load_in_8bit") || item_of(config, "load_in_4bit");
    method = method ? method : first ? "bitsandbytes" : ""; /* its first configs named none */
    for (size_t i = 0; i < MT_COUNT(methods); i++) {
        if (strcmp(method, methods[i].method) != 0) {
            continue;
        }
        if (!methods[i].read(&m->quant, config)) {
            return mt_fail(err, MT_UNSUPPORTED, MT_NO_OFFSET,
                           "quantization_config of %s has values that are not known", method);
        }
        m->quant.method = methods[i].name;
        m->dtype = m->dtype_said ? m->dtype : MT_BF16;
        return read_skip(m, config, err);
    }
    mt_fail(err, MT_UNSUPPORTED, MT_NO_OFFSET,
            "quantization_config.quant_method '%.60s' is not known", method);
    return mt_hint(err, "take quantization_config out of a copy of the config and give --dtype");
}

void mt_quant_force(struct mt_model *m, enum mt_dtype dtype, bool twice)
{
    m->quant = (struct mt_quant){.method = mt_dtype_name(dtype), .bits = mt_dtype_bits(dtype)};
    m->dtype = m->dtype == MT_FP32 ? MT_BF16 : m->dtype;
    if (dtype == MT_NF4) {
        set_nf4(&m->quant, twice);
    } else {
        m->quant.row_bits = 32;
    }
}
