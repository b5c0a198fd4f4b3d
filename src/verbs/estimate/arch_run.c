/* SPDX-License-Identifier: MIT */
/*
 * Runs architectures.txt over a config: statement by statement, with the loops over layers and
 * experts, conditions and blocks; every statement that names a tensor adds it to the model.
 */
#include "verbs/estimate/arch_run.h"

#include <inttypes.h>
#include <string.h>

#include "support/checked.h"

#include "verbs/estimate/arch_scope.h"

enum {
    TASKS = 5,
    WORDS = 8,
    LAYERS_MOST = 1024,
    PARTS_MOST = 1 << 20,
    NESTING_MOST = 24,
    KEYS_MOST = 4096
};

/* The text in lines, and the numbers of those that begin a model or block. */
struct lines {
    MT_VEC(struct mt_str) all;
    MT_VEC(size_t) heads;
};

struct run {
    struct mt_model *m;
    struct mt_scope scope;
    struct lines lines;
    struct mt_str where;
    uint32_t layer;
    uint64_t count, active; /* copies of what is named: experts */
    bool expert, tower;
    int nesting;
    struct mt_error *err;
};

/* A line in words: the statement and its arguments. */
struct statement {
    struct mt_str w[WORDS];
    size_t n;
};

static struct statement split(struct mt_str line)
{
    struct statement s = {.n = 0};
    size_t i = 0;
    while (i < line.n && s.n < WORDS && line.p[i] != '#') {
        size_t from = i;
        while (i < line.n && line.p[i] != ' ') {
            i++;
        }
        if (i > from) {
            s.w[s.n++] = (struct mt_str){line.p + from, i - from};
        }
        i += i < line.n;
    }
    return s;
}

static bool is(const struct statement *s, const char *word)
{
    return s->n > 0 && mt_str_equal(s->w[0], mt_str_from(word));
}

static bool begins_body(const struct statement *s)
{
    return is(s, "model") || is(s, "block");
}

static void lines_release(struct lines *l)
{
    mt_vec_release(&l->all);
    mt_vec_release(&l->heads);
}

static bool lines_of(struct lines *l)
{
    struct mt_str text = {(const char *)mt_embedded_architectures, mt_embedded_architectures_n};
    while (text.n > 0) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end ? (size_t)(end - text.p) : text.n;
        struct mt_str line = {text.p, n};
        struct statement s = split(line);
        if (s.n > 0 && (!mt_vec_push(&l->all, line) ||
                        (begins_body(&s) && !mt_vec_push(&l->heads, l->all.n - 1)))) {
            return false;
        }
        n += end != NULL;
        text = (struct mt_str){text.p + n, text.n - n};
    }
    return true;
}

/* Whether `word` is one of "a,b,c". */
static bool listed(struct mt_str list, struct mt_str word)
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

/* The line behind "KIND ...NAME...", lines.n when there is none. */
static size_t find_body(const struct run *x, const char *kind, struct mt_str name)
{
    for (size_t i = 0; i < x->lines.heads.n; i++) {
        size_t at = x->lines.heads.v[i];
        struct statement s = split(x->lines.all.v[at]);
        if (is(&s, kind) && s.n > 1 && listed(s.w[1], name)) {
            return at + 1;
        }
    }
    return x->lines.all.n;
}

static enum mt_status eval(struct run *x, const struct statement *s, size_t at, int64_t otherwise,
                           int64_t *value)
{
    *value = otherwise;
    return at < s->n ? mt_scope_eval(&x->scope, s->w[at], value, x->err) : MT_OK;
}

/* Sizes must not be negative. */
static enum mt_status size(struct run *x, const struct statement *s, size_t at, uint64_t otherwise,
                           uint64_t *value)
{
    int64_t v;
    MT_TRY(eval(x, s, at, (int64_t)otherwise, &v));
    if (v < 0) {
        return mt_fail(x->err, MT_FORMAT, MT_NO_OFFSET, "the size '%.*s' of %.*s is negative",
                       (int)s->w[at].n, s->w[at].p, (int)s->w[1].n, s->w[1].p);
    }
    *value = (uint64_t)v;
    return MT_OK;
}

/* ---- variables ---- */

static enum mt_status missing(struct run *x, struct mt_str keys)
{
    return mt_fail(x->err, MT_FORMAT, MT_NO_OFFSET, "%.*s is missing, and decides", (int)keys.n,
                   keys.p);
}

/* key VAR KEYS [DEFAULT [OF-NULL]] */
static enum mt_status do_key(struct run *x, const struct statement *s)
{
    const cJSON *item;
    int64_t value = 0;
    MT_TRY(mt_scope_item(&x->scope, s->w[2], &item, x->err));
    if (item && !cJSON_IsNull(item)) {
        MT_TRY(mt_scope_number(item, s->w[2], &value, x->err));
    } else if (item && s->n > 4) {
        MT_TRY(eval(x, s, 4, 0, &value));
    } else if (s->n > 3) {
        MT_TRY(eval(x, s, 3, 0, &value));
    } else {
        const struct mt_scope_var *v = mt_scope_find(&x->scope, s->w[1]);
        if (!v) {
            return missing(x, s->w[2]);
        }
        value = v->value;
    }
    return mt_scope_set(&x->scope, s->w[1], value, x->err);
}

/* word VAR KEYS a,b,c [DEFAULT] */
static enum mt_status do_word(struct run *x, const struct statement *s)
{
    const cJSON *item;
    int64_t value;
    MT_TRY(mt_scope_item(&x->scope, s->w[2], &item, x->err));
    MT_TRY(eval(x, s, 4, 0, &value));
    if (cJSON_IsString(item)) {
        value = listed(s->w[3], mt_str_from(item->valuestring));
    }
    return mt_scope_set(&x->scope, s->w[1], value, x->err);
}

/* member VAR KEYS EXPRESSION [DEFAULT] */
static enum mt_status do_member(struct run *x, const struct statement *s)
{
    const cJSON *item;
    int64_t wanted, value;
    MT_TRY(mt_scope_item(&x->scope, s->w[2], &item, x->err));
    MT_TRY(eval(x, s, 3, 0, &wanted));
    MT_TRY(eval(x, s, 4, 0, &value));
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
static enum mt_status do_count(struct run *x, const struct statement *s)
{
    const cJSON *item;
    int64_t value;
    MT_TRY(mt_scope_item(&x->scope, s->w[2], &item, x->err));
    MT_TRY(eval(x, s, 3, 0, &value));
    if (cJSON_IsArray(item) || cJSON_IsObject(item)) {
        value = cJSON_GetArraySize(item);
    } else if (cJSON_IsString(item)) {
        value = (int64_t)strlen(item->valuestring);
    }
    return mt_scope_set(&x->scope, s->w[1], value, x->err);
}

/* letter VAR KEYS EXPRESSION c [DEFAULT]: whether a text has c at that place, repeated */
static enum mt_status do_letter(struct run *x, const struct statement *s)
{
    const cJSON *item;
    int64_t at, value;
    MT_TRY(mt_scope_item(&x->scope, s->w[2], &item, x->err));
    MT_TRY(eval(x, s, 3, 0, &at));
    MT_TRY(eval(x, s, 5, 0, &value));
    size_t n = cJSON_IsString(item) ? strlen(item->valuestring) : 0;
    if (n > 0 && at >= 0) {
        value = item->valuestring[(size_t)at % n] == s->w[4].p[0];
    }
    return mt_scope_set(&x->scope, s->w[1], value, x->err);
}

static enum mt_status do_let(struct run *x, const struct statement *s)
{
    int64_t value;
    MT_TRY(eval(x, s, 2, 0, &value));
    return mt_scope_set(&x->scope, s->w[1], value, x->err);
}

static enum mt_status do_ignore(struct run *x, const struct statement *s)
{
    const cJSON *item;
    for (size_t i = 1; i < s->n; i++) {
        MT_TRY(mt_scope_item(&x->scope, s->w[i], &item, x->err));
    }
    return MT_OK;
}

static enum mt_status do_fail(struct run *x, const struct statement *s)
{
    return mt_fail(x->err, MT_UNSUPPORTED, MT_NO_OFFSET,
                   "%.*s has a value that this memtool does not know", (int)s->w[1].n, s->w[1].p);
}

/* ---- tensors ---- */

static enum mt_status add_part(struct run *x, struct mt_part p, struct mt_str name,
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

static enum mt_split split_of(const struct statement *s, size_t at)
{
    if (at >= s->n) {
        return MT_SPLIT_NONE;
    }
    return s->w[at].p[0] == 'c'   ? MT_SPLIT_COLUMN
           : s->w[at].p[0] == 'r' ? MT_SPLIT_ROW
                                  : MT_SPLIT_NONE;
}

/* linear|router|head NAME IN OUT [BIAS [column|row|whole]] */
static enum mt_status add_matrix(struct run *x, const struct statement *s, enum mt_part_kind kind,
                                 enum mt_split split_default)
{
    uint64_t in, out;
    int64_t bias;
    MT_TRY(size(x, s, 2, 0, &in));
    MT_TRY(size(x, s, 3, 0, &out));
    MT_TRY(eval(x, s, 4, 0, &bias));
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

static enum mt_status do_linear(struct run *x, const struct statement *s)
{
    return add_matrix(x, s, MT_PART_LINEAR, MT_SPLIT_NONE);
}

static enum mt_status do_router(struct run *x, const struct statement *s)
{
    return add_matrix(x, s, MT_PART_ROUTER, MT_SPLIT_NONE);
}

static enum mt_status do_head(struct run *x, const struct statement *s)
{
    return add_matrix(x, s, MT_PART_HEAD, MT_SPLIT_COLUMN);
}

/* table NAME ROWS COLUMNS [column]: the vocabulary is divided, positions are not */
static enum mt_status do_table(struct run *x, const struct statement *s)
{
    struct mt_part p = {.kind = MT_PART_TABLE, .n_dims = 2, .split = split_of(s, 4)};
    MT_TRY(size(x, s, 2, 0, &p.dims[0]));
    MT_TRY(size(x, s, 3, 0, &p.dims[1]));
    return add_part(x, p, s->w[1], ".weight");
}

/* tensor|buffer NAME D1 [D2 [D3 [D4]]]: as named, no suffix */
static enum mt_status add_tensor(struct run *x, const struct statement *s, bool buffer)
{
    struct mt_part p = {.kind = buffer ? MT_PART_BUFFER : MT_PART_OTHER};
    for (size_t i = 2; i < s->n && p.n_dims < MT_DIMS_MAX; i++) {
        MT_TRY(size(x, s, i, 0, &p.dims[p.n_dims++]));
    }
    return add_part(x, p, s->w[1], "");
}

static enum mt_status do_tensor(struct run *x, const struct statement *s)
{
    return add_tensor(x, s, false);
}

/* beside the parameters, in fp32: biases that balance experts */
static enum mt_status do_buffer(struct run *x, const struct statement *s)
{
    return add_tensor(x, s, true);
}

/* ---- what layers compute and keep ---- */

static enum mt_status add_work(struct run *x, struct mt_work w)
{
    w.layer = x->layer;
    w.tower = x->tower;
    return mt_vec_push(&x->m->works, w) ? MT_OK : mt_fail_nomem(x->err);
}

/* norm NAME WIDTH [BIAS [COPIES]]; NAME "-": without weights */
static enum mt_status do_norm(struct run *x, const struct statement *s)
{
    struct mt_part p = {.kind = MT_PART_OTHER, .n_dims = 1};
    struct mt_work w = {.kind = MT_WORK_NORM};
    int64_t bias;
    MT_TRY(size(x, s, 2, 0, &w.width));
    MT_TRY(eval(x, s, 3, 0, &bias));
    MT_TRY(size(x, s, 4, 1, &w.copies));
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
static enum mt_status do_attend(struct run *x, const struct statement *s)
{
    struct mt_work w = {.kind = MT_WORK_ATTEND};
    MT_TRY(size(x, s, 1, 0, &w.heads));
    MT_TRY(size(x, s, 2, 0, &w.kv_heads));
    MT_TRY(size(x, s, 3, 0, &w.key));
    MT_TRY(size(x, s, 4, 0, &w.value));
    MT_TRY(size(x, s, 5, 0, &w.width));
    return add_work(x, w);
}

/* mlp INNER GATED [EXPERTS-A-TOKEN EXPERTS] */
static enum mt_status do_mlp(struct run *x, const struct statement *s)
{
    struct mt_work w = {.kind = MT_WORK_MLP};
    int64_t gated;
    MT_TRY(size(x, s, 1, 0, &w.width));
    MT_TRY(eval(x, s, 2, 0, &gated));
    MT_TRY(size(x, s, 3, 1, &w.copies));
    MT_TRY(size(x, s, 4, 0, &w.experts));
    w.gated = gated != 0;
    return w.width ? add_work(x, w) : MT_OK;
}

/* scan INNER: a convolution and a state space model over a vector of so many elements */
static enum mt_status do_scan(struct run *x, const struct statement *s)
{
    struct mt_work w = {.kind = MT_WORK_SCAN};
    MT_TRY(size(x, s, 1, 0, &w.width));
    return add_work(x, w);
}

static enum mt_status add_cache(struct run *x, struct mt_cache c)
{
    c.layer = x->layer;
    x->m->decoder = true;
    return mt_vec_push(&x->m->caches, c) ? MT_OK : mt_fail_nomem(x->err);
}

/* cache HEADS ELEMENTS-A-HEAD [WINDOW] */
static enum mt_status do_cache(struct run *x, const struct statement *s)
{
    struct mt_cache c = {.heads = 0};
    MT_TRY(size(x, s, 1, 0, &c.heads));
    MT_TRY(size(x, s, 2, 0, &c.per_head));
    MT_TRY(size(x, s, 3, 0, &c.window));
    return add_cache(x, c);
}

/* state HEADS ELEMENTS [fp32] */
static enum mt_status do_state(struct run *x, const struct statement *s)
{
    struct mt_cache c = {.state = true, .fp32 = s->n > 3};
    MT_TRY(size(x, s, 1, 0, &c.heads));
    MT_TRY(size(x, s, 2, 0, &c.per_head));
    return add_cache(x, c);
}

/* shape LAYERS HIDDEN VOCABULARY [POSITIONS]: of the part that makes text */
static enum mt_status do_shape(struct run *x, const struct statement *s)
{
    MT_TRY(size(x, s, 1, 0, &x->m->layers));
    MT_TRY(size(x, s, 2, 0, &x->m->hidden));
    MT_TRY(size(x, s, 3, 0, &x->m->vocab));
    return size(x, s, 4, 0, &x->m->positions);
}

static enum mt_status do_left_out(struct run *x, const struct statement *s)
{
    return size(x, s, 1, 0, &x->m->left_out);
}

static enum mt_status do_at(struct run *x, const struct statement *s)
{
    x->where = s->n > 1 ? s->w[1] : (struct mt_str){"", 0};
    return MT_OK;
}

static enum mt_status do_tower(struct run *x, const struct statement *s)
{
    (void)s;
    x->tower = true;
    return MT_OK;
}

static const struct {
    const char *word;
    size_t least; /* words, with its own */
    enum mt_status (*run)(struct run *x, const struct statement *s);
} statements[] = {
    {"key", 3, do_key},           {"word", 4, do_word},     {"member", 4, do_member},
    {"count", 3, do_count},       {"let", 3, do_let},       {"ignore", 2, do_ignore},
    {"fail", 2, do_fail},         {"linear", 4, do_linear}, {"router", 4, do_router},
    {"head", 4, do_head},         {"table", 4, do_table},   {"tensor", 3, do_tensor},
    {"buffer", 3, do_buffer},     {"norm", 3, do_norm},     {"attend", 5, do_attend},
    {"mlp", 3, do_mlp},           {"scan", 2, do_scan},     {"cache", 3, do_cache},
    {"state", 3, do_state},       {"shape", 4, do_shape},   {"at", 1, do_at},
    {"left_out", 2, do_left_out}, {"tower", 1, do_tower},   {"letter", 5, do_letter},
};

/* ---- statements with a body ---- */

static enum mt_status run_lines(struct run *x, size_t from, size_t to);

static bool opens(const struct statement *s)
{
    return is(s, "if") || is(s, "layers") || is(s, "experts");
}

/* The line of the "end" that belongs to the statement before `from`; *other: of its "else". */
static size_t find_end(const struct run *x, size_t from, size_t *other)
{
    size_t depth = 0;
    *other = SIZE_MAX;
    for (size_t i = from; i < x->lines.all.n; i++) {
        struct statement s = split(x->lines.all.v[i]);
        if (depth == 0 && is(&s, "else")) {
            *other = i;
        }
        if (is(&s, "end") && depth-- == 0) {
            return i;
        }
        depth += opens(&s);
    }
    return x->lines.all.n;
}

static enum mt_status run_if(struct run *x, const struct statement *s, size_t from, size_t end,
                             size_t other)
{
    int64_t yes;
    MT_TRY(eval(x, s, 1, 0, &yes));
    if (yes) {
        return run_lines(x, from, other < end ? other : end);
    }
    return other < end ? run_lines(x, other + 1, end) : MT_OK;
}

/* layers WHERE COUNT */
static enum mt_status run_layers(struct run *x, const struct statement *s, size_t from, size_t end)
{
    struct mt_str where = x->where;
    uint64_t n;
    MT_TRY(size(x, s, 2, 0, &n));
    if (n > LAYERS_MOST) {
        return mt_fail(x->err, MT_LIMIT, MT_NO_OFFSET, "%" PRIu64 " layers: more than %d", n,
                       LAYERS_MOST);
    }
    x->where = s->w[1];
    for (uint32_t i = 0; i < n; i++) {
        x->layer = i;
        MT_TRY(mt_scope_set(&x->scope, MT_STR("i"), i, x->err));
        MT_TRY(run_lines(x, from, end));
    }
    x->layer = MT_NO_LAYER;
    x->where = where;
    return MT_OK;
}

/* experts COUNT ACTIVE */
static enum mt_status run_experts(struct run *x, const struct statement *s, size_t from, size_t end)
{
    MT_TRY(size(x, s, 1, 0, &x->count));
    MT_TRY(size(x, s, 2, 0, &x->active));
    x->expert = true;
    enum mt_status status = x->count ? run_lines(x, from, end) : MT_OK;
    x->count = x->active = 1;
    x->expert = false;
    return status;
}

static enum mt_status open_object(struct run *x, struct mt_str keys, const cJSON **item)
{
    struct mt_scope *s = &x->scope;
    MT_TRY(mt_scope_item(s, keys, item, x->err));
    if (!*item || cJSON_IsNull(*item)) {
        *item = NULL;
        return MT_OK;
    }
    if (!cJSON_IsObject(*item)) {
        return mt_fail(x->err, MT_FORMAT, MT_NO_OFFSET, "%.*s: expected an object", (int)keys.n,
                       keys.p);
    }
    if (s->n_objects == MT_SCOPE_DEPTH || cJSON_GetArraySize(*item) > KEYS_MOST) {
        return mt_fail(x->err, MT_LIMIT, MT_NO_OFFSET, "%.*s: too deep or too many keys",
                       (int)keys.n, keys.p);
    }
    s->objects[s->n_objects++] = (struct mt_scope_object){.object = *item, .path = (*item)->string};
    return MT_OK;
}

static enum mt_status run_model(struct run *x, struct mt_str type);

static const char *type_of(const cJSON *config)
{
    const char *type = NULL;
    for (const cJSON *c = config->child; c; c = c->next) {
        type = c->string && strcmp(c->string, "model_type") == 0 ? cJSON_GetStringValue(c) : type;
    }
    return type;
}

/* sub KEYS [TYPE]: a model in an object of its own, with its own variables; TYPE where it names
 * none, or that of the whole. */
static enum mt_status run_sub(struct run *x, const struct statement *s)
{
    const cJSON *item;
    struct mt_scope_var vars[MT_SCOPE_VARS];
    size_t n_vars = x->scope.n_vars;
    struct mt_str where = x->where;
    bool tower = x->tower;
    MT_TRY(open_object(x, s->w[1], &item));
    if (!item) {
        return missing(x, s->w[1]);
    }
    memcpy(vars, x->scope.vars, sizeof vars);
    const char *named = type_of(item);
    bool own = named && !mt_str_equal(mt_str_from(named), x->m->type);
    struct mt_str type = own ? mt_str_from(named) : s->n > 2 ? s->w[2] : (struct mt_str){"", 0};
    x->scope.n_vars = TASKS; /* those of set_task come first */
    MT_TRY(run_model(x, type));
    memcpy(x->scope.vars, vars, sizeof vars);
    x->scope.n_vars = n_vars;
    x->scope.n_objects--;
    x->tower = tower;
    x->where = where;
    return MT_OK;
}

static enum mt_status run_as(struct run *x, const struct statement *s)
{
    size_t from = find_body(x, "model", s->w[1]);
    return from == x->lines.all.n ? mt_fail(x->err, MT_INTERNAL, MT_NO_OFFSET, "no such model")
                                  : run_lines(x, from, x->lines.all.n);
}

static enum mt_status run_use(struct run *x, const struct statement *s)
{
    size_t from = find_body(x, "block", s->w[1]);
    if (from == x->lines.all.n || x->nesting == NESTING_MOST) {
        return mt_fail(x->err, MT_INTERNAL, MT_NO_OFFSET, "no block '%.*s'", (int)s->w[1].n,
                       s->w[1].p);
    }
    x->nesting++;
    MT_TRY(run_lines(x, from, x->lines.all.n));
    x->nesting--;
    return MT_OK;
}

static enum mt_status run_statement(struct run *x, const struct statement *s)
{
    for (size_t i = 0; i < MT_COUNT(statements); i++) {
        if (is(s, statements[i].word) && s->n >= statements[i].least) {
            return statements[i].run(x, s);
        }
    }
    return mt_fail(x->err, MT_INTERNAL, MT_NO_OFFSET, "no statement '%.*s'", (int)s->w[0].n,
                   s->w[0].p);
}

static enum mt_status run_body(struct run *x, const struct statement *s, size_t from, size_t end,
                               size_t other)
{
    return is(s, "if")       ? run_if(x, s, from, end, other)
           : is(s, "layers") ? run_layers(x, s, from, end)
                             : run_experts(x, s, from, end);
}

/* Up to the line `to`, or to where another model or block begins. */
static enum mt_status run_lines(struct run *x, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        struct statement s = split(x->lines.all.v[i]);
        if (begins_body(&s)) {
            return MT_OK;
        }
        if (opens(&s)) {
            size_t other, end = find_end(x, i + 1, &other);
            MT_TRY(run_body(x, &s, i + 1, end, other));
            i = end;
        } else if (is(&s, "use")) {
            MT_TRY(run_use(x, &s));
        } else if (is(&s, "as")) {
            MT_TRY(run_as(x, &s));
        } else if (is(&s, "sub")) {
            MT_TRY(run_sub(x, &s));
        } else if (s.n > 0) {
            MT_TRY(run_statement(x, &s));
        }
    }
    return MT_OK;
}

static enum mt_status run_model(struct run *x, struct mt_str type)
{
    size_t from = find_body(x, "model", type);
    const struct mt_scope_object *o = &x->scope.objects[x->scope.n_objects - 1];
    if (from == x->lines.all.n) {
        mt_fail(x->err, MT_UNSUPPORTED, MT_NO_OFFSET,
                type.n ? "%s%smodel_type '%.60s' is not known" : "%s%smodel_type is missing%.60s",
                o->path, *o->path ? "." : "", type.p);
        return mt_hint(x->err, "give --params, --layers, --hidden, --heads and --vocab in place of "
                               "--config");
    }
    MT_TRY(run_lines(x, from, x->lines.all.n));
    return mt_scope_check(&x->scope, x->err);
}

/* ---- from outside ---- */

/* What the class named under "architectures" puts on the layers. */
static enum mt_status set_task(struct run *x, const cJSON *config)
{
    static const struct {
        const char *end, *var;
    } tasks[] = {{"Model", "base"},
                 {"LMHeadModel", "lm"},
                 {"ForPreTraining", "pretraining"},
                 {"ForSequenceClassification", "labels"},
                 {"ForTokenClassification", "tokens"}};
    _Static_assert(MT_COUNT(tasks) == TASKS, "as many as run_sub keeps");
    struct mt_str name = {"", 0};
    int64_t labels = 2;
    for (const cJSON *c = config->child; c; c = c->next) {
        if (strcmp(c->string, "architectures") == 0 && cJSON_IsArray(c) &&
            cJSON_IsString(c->child)) {
            name = mt_str_from(c->child->valuestring);
        } else if (strcmp(c->string, "id2label") == 0 && cJSON_IsObject(c)) {
            labels = cJSON_GetArraySize(c);
        }
    }
    bool lm = mt_str_ends(name, MT_STR("LMHeadModel"));
    for (size_t i = 0; i < MT_COUNT(tasks); i++) {
        bool yes = mt_str_ends(name, mt_str_from(tasks[i].end)) && (i > 0 || !lm);
        MT_TRY(mt_scope_set(&x->scope, mt_str_from(tasks[i].var), yes ? i < 3 ? 1 : labels : 0,
                            x->err));
    }
    return MT_OK;
}

enum mt_status mt_arch_run(struct mt_model *m, const cJSON *config, struct mt_str type,
                           struct mt_error *err)
{
    struct run x = {
        .m = m, .layer = MT_NO_LAYER, .count = 1, .active = 1, .err = err, .where = {"", 0}};
    x.scope.objects[0] = (struct mt_scope_object){.object = config, .path = ""};
    x.scope.n_objects = 1;
    enum mt_status status = lines_of(&x.lines) ? MT_OK : mt_fail_nomem(err);
    if (status == MT_OK && cJSON_GetArraySize(config) > KEYS_MOST) {
        status = mt_fail(err, MT_LIMIT, MT_NO_OFFSET, "more than %d keys", KEYS_MOST);
    }
    if (status == MT_OK) {
        status = set_task(&x, config);
    }
    if (status == MT_OK) {
        status = run_model(&x, type);
    }
    lines_release(&x.lines);
    return status;
}

enum mt_status mt_model_types(struct mt_arena *a, struct mt_str **names, size_t *n,
                              struct mt_error *err)
{
    struct run x = {.m = NULL};
    size_t room = mt_embedded_architectures_n / 2;
    *n = 0;
    *names = mt_arena_alloc(a, room * sizeof **names);
    if (!*names || !lines_of(&x.lines)) {
        lines_release(&x.lines);
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < x.lines.heads.n; i++) {
        struct statement s = split(x.lines.all.v[x.lines.heads.v[i]]);
        struct mt_str list = s.n > 1 ? s.w[1] : (struct mt_str){"", 0};
        while (is(&s, "model") && list.n > 0) {
            const char *comma = memchr(list.p, ',', list.n);
            size_t k = comma ? (size_t)(comma - list.p) : list.n;
            (*names)[(*n)++] = mt_arena_copy(a, list.p, k);
            k += comma != NULL;
            list = (struct mt_str){list.p + k, list.n - k};
        }
    }
    lines_release(&x.lines);
    return MT_OK;
}
