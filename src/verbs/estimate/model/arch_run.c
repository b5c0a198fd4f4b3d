/* SPDX-License-Identifier: MIT */
/*
 * Runs architectures/ over a config: statement by statement, with the loops over layers and
 * experts, conditions and blocks; every statement that names a tensor adds it to the model.
 */
#include "verbs/estimate/model/arch_run.h"

#include <inttypes.h>
#include <string.h>

#include "support/checked.h"

#include "verbs/estimate/model/arch_statement.h"

enum { TASKS = 5, LAYERS_MOST = 1024, NESTING_MOST = 24, KEYS_MOST = 4096 };

static struct mt_arch_statement split(struct mt_str line)
{
    struct mt_arch_statement s = {.n = 0};
    size_t i = 0;
    while (i < line.n && s.n < MT_ARCH_WORDS && line.p[i] != '#') {
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

static bool is(const struct mt_arch_statement *s, const char *word)
{
    return s->n > 0 && mt_str_equal(s->w[0], mt_str_from(word));
}

static bool begins_body(const struct mt_arch_statement *s)
{
    return is(s, "model") || is(s, "block");
}

static void lines_release(struct mt_arch_lines *l)
{
    mt_vec_release(&l->all);
    mt_vec_release(&l->heads);
}

static bool lines_of(struct mt_arch_lines *l)
{
    struct mt_str text = {(const char *)mt_embedded_architectures, mt_embedded_architectures_n};
    while (text.n > 0) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end ? (size_t)(end - text.p) : text.n;
        struct mt_str line = {text.p, n};
        struct mt_arch_statement s = split(line);
        if (s.n > 0 && (!mt_vec_push(&l->all, line) ||
                        (begins_body(&s) && !mt_vec_push(&l->heads, l->all.n - 1)))) {
            return false;
        }
        n += end != NULL;
        text = (struct mt_str){text.p + n, text.n - n};
    }
    return true;
}

/* The line behind "KIND ...NAME...", lines.n when there is none. */
static size_t find_body(const struct mt_arch *x, const char *kind, struct mt_str name)
{
    for (size_t i = 0; i < x->lines.heads.n; i++) {
        size_t at = x->lines.heads.v[i];
        struct mt_arch_statement s = split(x->lines.all.v[at]);
        if (is(&s, kind) && s.n > 1 && mt_arch_listed(s.w[1], name)) {
            return at + 1;
        }
    }
    return x->lines.all.n;
}

/* ---- statements with a body ---- */

static enum mt_status run_lines(struct mt_arch *x, size_t from, size_t to);

static bool opens(const struct mt_arch_statement *s)
{
    return is(s, "if") || is(s, "layers") || is(s, "experts");
}

/* The line of the "end" that belongs to the statement before `from`; *other: of its "else". */
static size_t find_end(const struct mt_arch *x, size_t from, size_t *other)
{
    size_t depth = 0;
    *other = SIZE_MAX;
    for (size_t i = from; i < x->lines.all.n; i++) {
        struct mt_arch_statement s = split(x->lines.all.v[i]);
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

static enum mt_status run_if(struct mt_arch *x, const struct mt_arch_statement *s, size_t from,
                             size_t end, size_t other)
{
    int64_t yes;
    MT_TRY(mt_arch_eval(x, s, 1, 0, &yes));
    if (yes) {
        return run_lines(x, from, other < end ? other : end);
    }
    return other < end ? run_lines(x, other + 1, end) : MT_OK;
}

/* layers WHERE COUNT */
static enum mt_status run_layers(struct mt_arch *x, const struct mt_arch_statement *s, size_t from,
                                 size_t end)
{
    struct mt_str where = x->where;
    uint64_t n;
    MT_TRY(mt_arch_size(x, s, 2, 0, &n));
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
static enum mt_status run_experts(struct mt_arch *x, const struct mt_arch_statement *s, size_t from,
                                  size_t end)
{
    MT_TRY(mt_arch_size(x, s, 1, 0, &x->count));
    MT_TRY(mt_arch_size(x, s, 2, 0, &x->active));
    x->expert = true;
    enum mt_status status = x->count ? run_lines(x, from, end) : MT_OK;
    x->count = x->active = 1;
    x->expert = false;
    return status;
}

static enum mt_status open_object(struct mt_arch *x, struct mt_str keys, const cJSON **item)
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

static enum mt_status run_model(struct mt_arch *x, struct mt_str type);

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
static enum mt_status run_sub(struct mt_arch *x, const struct mt_arch_statement *s)
{
    const cJSON *item;
    struct mt_scope_var vars[MT_SCOPE_VARS];
    size_t n_vars = x->scope.n_vars;
    struct mt_str where = x->where;
    bool tower = x->tower;
    MT_TRY(open_object(x, s->w[1], &item));
    if (!item) {
        return mt_arch_missing(x, s->w[1]);
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

static enum mt_status run_as(struct mt_arch *x, const struct mt_arch_statement *s)
{
    size_t from = find_body(x, "model", s->w[1]);
    return from == x->lines.all.n ? mt_fail(x->err, MT_INTERNAL, MT_NO_OFFSET, "no such model")
                                  : run_lines(x, from, x->lines.all.n);
}

static enum mt_status run_use(struct mt_arch *x, const struct mt_arch_statement *s)
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

static enum mt_status run_body(struct mt_arch *x, const struct mt_arch_statement *s, size_t from,
                               size_t end, size_t other)
{
    return is(s, "if")       ? run_if(x, s, from, end, other)
           : is(s, "layers") ? run_layers(x, s, from, end)
                             : run_experts(x, s, from, end);
}

/* Up to the line `to`, or to where another model or block begins. */
static enum mt_status run_lines(struct mt_arch *x, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        struct mt_arch_statement s = split(x->lines.all.v[i]);
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
            MT_TRY(mt_arch_do(x, &s));
        }
    }
    return MT_OK;
}

static enum mt_status run_model(struct mt_arch *x, struct mt_str type)
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
static enum mt_status set_task(struct mt_arch *x, const cJSON *config)
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
    struct mt_arch x = {
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
    struct mt_arch x = {.m = NULL};
    size_t room = mt_embedded_architectures_n / 2;
    *n = 0;
    *names = mt_arena_alloc(a, room * sizeof **names);
    if (!*names || !lines_of(&x.lines)) {
        lines_release(&x.lines);
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < x.lines.heads.n; i++) {
        struct mt_arch_statement s = split(x.lines.all.v[x.lines.heads.v[i]]);
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
