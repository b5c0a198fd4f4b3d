/* SPDX-License-Identifier: MIT */
/* The statements of architectures/ that stand alone: variables from keys, tensors, what layers
 * compute and what they keep of a sequence. */
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "verbs/estimate/model/arch_statement.h"

enum { PARTS_MOST = 1000000 };

/* Whether `word` is one of "a,b,c". */
bool mt_arch_listed(struct mt_str list, struct mt_str word)
{
    size_t from = 0;
    for (size_t i = 0; i <= list.n; i++) {
        if (i == list.n || list.p[i] == ',') {
            if (mt_str_equal((struct mt_str){list.p + from, i - from}, word)) {
                return true;
            }
            from = i + 1;
        }
    }
    return false;
}

enum mt_status mt_arch_eval(struct mt_arch *x, const struct mt_arch_statement *s, size_t at,
                            int64_t otherwise, int64_t *value)
{
    *value = otherwise;
    return at < s->n ? mt_scope_eval(&x->scope, s->w[at], value, x->err) : MT_OK;
}

/* Sizes must not be negative. */
enum mt_status mt_arch_size(struct mt_arch *x, const struct mt_arch_statement *s, size_t at,
                            uint64_t otherwise, uint64_t *value)
{
    int64_t v;
    MT_TRY(mt_arch_eval(x, s, at, (int64_t)otherwise, &v));
    if (v < 0) {
        return mt_fail(x->err, MT_FORMAT, MT_NO_OFFSET, "the size '%.*s' of %.*s is negative",
                       (int)s->w[at].n, s->w[at].p, (int)s->w[1].n, s->w[1].p);
    }
    *value = (uint64_t)v;
    return MT_OK;
}

/* ---- variables ---- */

enum mt_status mt_arch_missing(struct mt_arch *x, struct mt_str keys)
{
    return mt_fail(x->err, MT_FORMAT, MT_NO_OFFSET, "%.*s is missing, and decides", (int)keys.n,
                   keys.p);
}

/* key VAR KEYS [DEFAULT [OF-NULL]] */
static enum mt_status do_key(struct mt_arch *x, const struct mt_arch_statement *s)
{
    const cJSON *item;
    int64_t value = 0;
    MT_TRY(mt_scope_item(&x->scope, s->w[2], &item, x->err));
    if (item && !cJSON_IsNull(item)) {
        MT_TRY(mt_scope_number(item, s->w[2], &value, x->err));
    } else if (item && s->n > 4) {
        MT_TRY(mt_arch_eval(x, s, 4, 0, &value));
    } else if (s->n > 3) {
        MT_TRY(mt_arch_eval(x, s, 3, 0, &value));
    } else {
        const struct mt_scope_var *v = mt_scope_find(&x->scope, s->w[1]);
        if (!v) {
            return mt_arch_missing(x, s->w[2]);
        }
        value = v->value;
    }
    return mt_scope_set(&x->scope, s->w[1], value, x->err);
}

/* word VAR KEYS a,b,c [DEFAULT] */
static enum mt_status do_word(struct mt_arch *x, const struct mt_arch_statement *s)
{
    const cJSON *item;
    int64_t value;
    MT_TRY(mt_scope_item(&x->scope, s->w[2], &item, x->err));
    MT_TRY(mt_arch_eval(x, s, 4, 0, &value));
    if (cJSON_IsString(item)) {
        value = mt_arch_listed(s->w[3], mt_str_from(item->valuestring));
    }
    return mt_scope_set(&x->scope, s->w[1], value, x->err);
}

/* member VAR KEYS EXPRESSION [DEFAULT] */
static enum mt_status do_member(struct mt_arch *x, const struct mt_arch_statement *s)
{
    const cJSON *item;
    int64_t wanted, value;
    MT_TRY(mt_scope_item(&x->scope, s->w[2], &item, x->err));
    MT_TRY(mt_arch_eval(x, s, 3, 0, &wanted));
    MT_TRY(mt_arch_eval(x, s, 4, 0, &value));
    for (const cJSON *c = cJSON_IsArray(item) ? item->child : NULL; c; c = c->next) {
        value = c == item->child ? 0 : value;
        if (cJSON_IsNumber(c) && c->valuedouble >= 0 && c->valuedouble < 1e9 &&
            (int64_t)c->valuedouble == wanted) {
            value = 1;
            break;
        }
    }
    return mt_scope_set(&x->scope, s->w[1], value, x->err);
}

/* count VAR KEYS [DEFAULT]: entries of a list or an object, characters of a text */
static enum mt_status do_count(struct mt_arch *x, const struct mt_arch_statement *s)
{
    const cJSON *item;
    int64_t value;
    MT_TRY(mt_scope_item(&x->scope, s->w[2], &item, x->err));
    MT_TRY(mt_arch_eval(x, s, 3, 0, &value));
    if (cJSON_IsArray(item) || cJSON_IsObject(item)) {
        value = cJSON_GetArraySize(item);
    } else if (cJSON_IsString(item)) {
        value = (int64_t)strlen(item->valuestring);
    }
    return mt_scope_set(&x->scope, s->w[1], value, x->err);
}

/* letter VAR KEYS EXPRESSION c [DEFAULT]: whether a text has c at that place, repeated */
static enum mt_status do_letter(struct mt_arch *x, const struct mt_arch_statement *s)
{
    const cJSON *item;
    int64_t at, value;
    MT_TRY(mt_scope_item(&x->scope, s->w[2], &item, x->err));
    MT_TRY(mt_arch_eval(x, s, 3, 0, &at));
    MT_TRY(mt_arch_eval(x, s, 5, 0, &value));
    size_t n = cJSON_IsString(item) ? strlen(item->valuestring) : 0;
    if (n > 0 && at >= 0) {
        value = item->valuestring[(size_t)at % n] == s->w[4].p[0];
    }
    return mt_scope_set(&x->scope, s->w[1], value, x->err);
}

/* let VAR EXPRESSION [VAR EXPRESSION ...] */
static enum mt_status do_let(struct mt_arch *x, const struct mt_arch_statement *s)
{
    for (size_t i = 1; i + 1 < s->n; i += 2) {
        int64_t value;
        MT_TRY(mt_arch_eval(x, s, i + 1, 0, &value));
        MT_TRY(mt_scope_set(&x->scope, s->w[i], value, x->err));
    }
    return MT_OK;
}

static enum mt_status do_ignore(struct mt_arch *x, const struct mt_arch_statement *s)
{
    const cJSON *item;
    for (size_t i = 1; i < s->n; i++) {
        MT_TRY(mt_scope_item(&x->scope, s->w[i], &item, x->err));
    }
    return MT_OK;
}

static enum mt_status do_fail(struct mt_arch *x, const struct mt_arch_statement *s)
{
    return mt_fail(x->err, MT_UNSUPPORTED, MT_NO_OFFSET,
                   "%.*s is missing or has a value that this memtool does not know", (int)s->w[1].n,
                   s->w[1].p);
}

/* ---- tensors ---- */

static enum mt_status add_part(struct mt_arch *x, struct mt_part p, struct mt_str name,
                               const char *suffix)
{
    struct mt_model *m = x->m;
    char text[160];
    int n = snprintf(text, sizeof text, "%.*s%s", (int)name.n, name.p, suffix);
    for (size_t i = 0; i < p.n_dims; i++) {
        if (p.dims[i] == 0) {
            return MT_OK; /* a part that this model has not */
        }
    }
    p.name = mt_arena_copy(&m->text, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
    p.where = x->where;
    p.layer = x->layer;
    p.tower = x->tower;
    p.expert = x->expert;
    p.count = x->count;
    p.active = x->active;
    if (m->parts.n >= PARTS_MOST) {
        return mt_fail(x->err, MT_LIMIT, MT_NO_OFFSET, "more than %d tensors", PARTS_MOST);
    }
    return p.name.p && mt_vec_push(&m->parts, p) ? MT_OK : mt_fail_nomem(x->err);
}

static enum mt_split split_of(const struct mt_arch_statement *s, size_t at)
{
    if (at >= s->n) {
        return MT_SPLIT_NONE;
    }
    return s->w[at].p[0] == 'c'   ? MT_SPLIT_COLUMN
           : s->w[at].p[0] == 'r' ? MT_SPLIT_ROW
                                  : MT_SPLIT_NONE;
}

/* linear|router|head NAME IN OUT [BIAS [column|row|whole]] */
static enum mt_status add_matrix(struct mt_arch *x, const struct mt_arch_statement *s,
                                 enum mt_part_kind kind, enum mt_split split_default)
{
    uint64_t in, out;
    int64_t bias;
    MT_TRY(mt_arch_size(x, s, 2, 0, &in));
    MT_TRY(mt_arch_size(x, s, 3, 0, &out));
    MT_TRY(mt_arch_eval(x, s, 4, 0, &bias));
    struct mt_part p = {.kind = kind, .n_dims = 2, .dims = {out, in}};
    p.split = s->n > 5 ? split_of(s, 5) : split_default;
    MT_TRY(add_part(x, p, s->w[1], ".weight"));
    if (!bias || in == 0) {
        return MT_OK;
    }
    struct mt_part b = {.kind = MT_PART_OTHER, .n_dims = 1, .dims = {out}};
    b.split = p.split == MT_SPLIT_COLUMN ? MT_SPLIT_COLUMN : MT_SPLIT_NONE;
    return add_part(x, b, s->w[1], ".bias");
}

static enum mt_status do_linear(struct mt_arch *x, const struct mt_arch_statement *s)
{
    return add_matrix(x, s, MT_PART_LINEAR, MT_SPLIT_NONE);
}

static enum mt_status do_router(struct mt_arch *x, const struct mt_arch_statement *s)
{
    return add_matrix(x, s, MT_PART_ROUTER, MT_SPLIT_NONE);
}

static enum mt_status do_head(struct mt_arch *x, const struct mt_arch_statement *s)
{
    return add_matrix(x, s, MT_PART_HEAD, MT_SPLIT_COLUMN);
}

/* table NAME ROWS COLUMNS [column]: the vocabulary is divided, positions are not */
static enum mt_status do_table(struct mt_arch *x, const struct mt_arch_statement *s)
{
    struct mt_part p = {.kind = MT_PART_TABLE, .n_dims = 2, .split = split_of(s, 4)};
    MT_TRY(mt_arch_size(x, s, 2, 0, &p.dims[0]));
    MT_TRY(mt_arch_size(x, s, 3, 0, &p.dims[1]));
    return add_part(x, p, s->w[1], ".weight");
}

/* tensor|buffer NAME D1 [D2 [D3 [D4]]]: as named, no suffix */
static enum mt_status add_tensor(struct mt_arch *x, const struct mt_arch_statement *s, bool buffer)
{
    struct mt_part p = {.kind = buffer ? MT_PART_BUFFER : MT_PART_OTHER};
    for (size_t i = 2; i < s->n && p.n_dims < MT_DIMS_MAX; i++) {
        MT_TRY(mt_arch_size(x, s, i, 0, &p.dims[p.n_dims++]));
    }
    return add_part(x, p, s->w[1], "");
}

static enum mt_status do_tensor(struct mt_arch *x, const struct mt_arch_statement *s)
{
    return add_tensor(x, s, false);
}

/* beside the parameters, in fp32: biases that balance experts */
static enum mt_status do_buffer(struct mt_arch *x, const struct mt_arch_statement *s)
{
    return add_tensor(x, s, true);
}

/* ---- what layers compute and keep ---- */

static enum mt_status add_work(struct mt_arch *x, struct mt_work w)
{
    w.layer = x->layer;
    w.tower = x->tower;
    return mt_vec_push(&x->m->works, w) ? MT_OK : mt_fail_nomem(x->err);
}

/* norm NAME WIDTH [BIAS [COPIES]]; NAME "-": without weights */
static enum mt_status do_norm(struct mt_arch *x, const struct mt_arch_statement *s)
{
    struct mt_part p = {.kind = MT_PART_OTHER, .n_dims = 1};
    struct mt_work w = {.kind = MT_WORK_NORM};
    int64_t bias;
    MT_TRY(mt_arch_size(x, s, 2, 0, &w.width));
    MT_TRY(mt_arch_eval(x, s, 3, 0, &bias));
    MT_TRY(mt_arch_size(x, s, 4, 1, &w.copies));
    p.dims[0] = w.width;
    w.centred = bias != 0;
    bool weights = !mt_str_equal(s->w[1], MT_STR("-"));
    if (weights) {
        MT_TRY(add_part(x, p, s->w[1], ".weight"));
    }
    if (weights && bias) {
        MT_TRY(add_part(x, p, s->w[1], ".bias"));
    }
    return w.width ? add_work(x, w) : MT_OK;
}

/* attend HEADS KV_HEADS KEY_SIZE VALUE_SIZE [LATENT]: and the vectors between projections */
static enum mt_status do_attend(struct mt_arch *x, const struct mt_arch_statement *s)
{
    struct mt_work w = {.kind = MT_WORK_ATTEND};
    MT_TRY(mt_arch_size(x, s, 1, 0, &w.heads));
    MT_TRY(mt_arch_size(x, s, 2, 0, &w.kv_heads));
    MT_TRY(mt_arch_size(x, s, 3, 0, &w.key));
    MT_TRY(mt_arch_size(x, s, 4, 0, &w.value));
    MT_TRY(mt_arch_size(x, s, 5, 0, &w.width));
    return add_work(x, w);
}

/* mlp INNER GATED [EXPERTS-A-TOKEN EXPERTS] */
static enum mt_status do_mlp(struct mt_arch *x, const struct mt_arch_statement *s)
{
    struct mt_work w = {.kind = MT_WORK_MLP};
    int64_t gated;
    MT_TRY(mt_arch_size(x, s, 1, 0, &w.width));
    MT_TRY(mt_arch_eval(x, s, 2, 0, &gated));
    MT_TRY(mt_arch_size(x, s, 3, 1, &w.copies));
    MT_TRY(mt_arch_size(x, s, 4, 0, &w.experts));
    w.gated = gated != 0;
    return w.width ? add_work(x, w) : MT_OK;
}

/* scan INNER: a convolution and a state space model over a vector of so many elements */
static enum mt_status do_scan(struct mt_arch *x, const struct mt_arch_statement *s)
{
    struct mt_work w = {.kind = MT_WORK_SCAN};
    MT_TRY(mt_arch_size(x, s, 1, 0, &w.width));
    return add_work(x, w);
}

static enum mt_status add_cache(struct mt_arch *x, struct mt_cache c)
{
    c.layer = x->layer;
    x->m->decoder = true;
    return mt_vec_push(&x->m->caches, c) ? MT_OK : mt_fail_nomem(x->err);
}

/* cache HEADS ELEMENTS-A-HEAD [WINDOW] */
static enum mt_status do_cache(struct mt_arch *x, const struct mt_arch_statement *s)
{
    struct mt_cache c = {.heads = 0};
    MT_TRY(mt_arch_size(x, s, 1, 0, &c.heads));
    MT_TRY(mt_arch_size(x, s, 2, 0, &c.per_head));
    MT_TRY(mt_arch_size(x, s, 3, 0, &c.window));
    return add_cache(x, c);
}

/* state HEADS ELEMENTS [fp32] */
static enum mt_status do_state(struct mt_arch *x, const struct mt_arch_statement *s)
{
    struct mt_cache c = {.state = true, .fp32 = s->n > 3};
    MT_TRY(mt_arch_size(x, s, 1, 0, &c.heads));
    MT_TRY(mt_arch_size(x, s, 2, 0, &c.per_head));
    return add_cache(x, c);
}

/* shape LAYERS HIDDEN VOCABULARY [POSITIONS]: of the part that makes text */
static enum mt_status do_shape(struct mt_arch *x, const struct mt_arch_statement *s)
{
    MT_TRY(mt_arch_size(x, s, 1, 0, &x->m->layers));
    MT_TRY(mt_arch_size(x, s, 2, 0, &x->m->hidden));
    MT_TRY(mt_arch_size(x, s, 3, 0, &x->m->vocab));
    return mt_arch_size(x, s, 4, 0, &x->m->positions);
}

/* tied EXPRESSION: the embedding is the output layer too */
static enum mt_status do_tied(struct mt_arch *x, const struct mt_arch_statement *s)
{
    int64_t tied;
    MT_TRY(mt_arch_eval(x, s, 1, 0, &tied));
    x->m->tied = tied != 0;
    return MT_OK;
}

static enum mt_status do_left_out(struct mt_arch *x, const struct mt_arch_statement *s)
{
    return mt_arch_size(x, s, 1, 0, &x->m->left_out);
}

static enum mt_status do_at(struct mt_arch *x, const struct mt_arch_statement *s)
{
    x->where = s->n > 1 ? s->w[1] : (struct mt_str){"", 0};
    return MT_OK;
}

static enum mt_status do_tower(struct mt_arch *x, const struct mt_arch_statement *s)
{
    (void)s;
    x->tower = true;
    return MT_OK;
}

static const struct {
    const char *word;
    size_t least; /* words, with its own */
    enum mt_status (*run)(struct mt_arch *x, const struct mt_arch_statement *s);
} statements[] = {
    {"key", 3, do_key},           {"word", 4, do_word},     {"member", 4, do_member},
    {"count", 3, do_count},       {"let", 3, do_let},       {"ignore", 2, do_ignore},
    {"fail", 2, do_fail},         {"linear", 4, do_linear}, {"router", 4, do_router},
    {"head", 4, do_head},         {"table", 4, do_table},   {"tensor", 3, do_tensor},
    {"buffer", 3, do_buffer},     {"norm", 3, do_norm},     {"attend", 5, do_attend},
    {"mlp", 3, do_mlp},           {"scan", 2, do_scan},     {"cache", 3, do_cache},
    {"state", 3, do_state},       {"shape", 4, do_shape},   {"at", 1, do_at},
    {"left_out", 2, do_left_out}, {"tied", 2, do_tied},     {"tower", 1, do_tower},
    {"letter", 5, do_letter},
};

enum mt_status mt_arch_do(struct mt_arch *x, const struct mt_arch_statement *s)
{
    for (size_t i = 0; i < MT_COUNT(statements); i++) {
        if (mt_str_equal(s->w[0], mt_str_from(statements[i].word)) && s->n >= statements[i].least) {
            return statements[i].run(x, s);
        }
    }
    return mt_fail(x->err, MT_INTERNAL, MT_NO_OFFSET, "no statement '%.*s'", (int)s->w[0].n,
                   s->w[0].p);
}
