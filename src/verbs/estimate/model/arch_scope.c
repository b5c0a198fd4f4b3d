/* SPDX-License-Identifier: MIT */
/* Variables, keys of the config, and expressions over them. The expressions come from
 * architectures/ alone; only numbers come from the config. */
#include "verbs/estimate/model/arch_scope.h"

#include <math.h>
#include <string.h>

#include "support/checked.h"
#include "support/compiler.h"

/* Larger than any figure of a model. */
#define FIGURE_MAX 1e12

const struct mt_scope_var *mt_scope_find(const struct mt_scope *s, struct mt_str name)
{
    for (size_t i = 0; i < s->n_vars; i++) {
        if (mt_str_equal(s->vars[i].name, name)) {
            return &s->vars[i];
        }
    }
    return NULL;
}

enum mt_status mt_scope_set(struct mt_scope *s, struct mt_str name, int64_t value,
                            struct mt_error *err)
{
    const struct mt_scope_var *old = mt_scope_find(s, name);
    if (!old && s->n_vars == MT_SCOPE_VARS) {
        return mt_fail(err, MT_INTERNAL, MT_NO_OFFSET, "too many variables");
    }
    size_t at = old ? (size_t)(old - s->vars) : s->n_vars++;
    s->vars[at] = (struct mt_scope_var){name, value};
    return MT_OK;
}

/* ---- expressions: precedence climbing ---- */

struct parse {
    const struct mt_scope *s;
    struct mt_str text;
    size_t at;
    struct mt_error *err;
};

static const struct {
    const char *sign;
    int level; /* binds tighter the higher */
} operators[] = {{"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<=", 4}, {">=", 4}, {"<", 4},
                 {">", 4},  {"+", 5},  {"-", 5},  {"*", 6},  {"/", 6},  {"%", 6}};
enum { OPERATORS = MT_COUNT(operators) };

static enum mt_status binary(struct parse *p, int level, int64_t *value);

static enum mt_status wrong(struct parse *p, const char *what)
{
    return mt_fail(p->err, MT_INTERNAL, MT_NO_OFFSET, "%s in '%.*s'", what, (int)p->text.n,
                   p->text.p);
}

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static char peek(const struct parse *p)
{
    return p->at < p->text.n ? p->text.p[p->at] : '\0';
}

static enum mt_status ternary(struct parse *p, int64_t *value)
{
    int64_t yes, no;
    MT_TRY(binary(p, 1, value));
    if (peek(p) != '?') {
        return MT_OK;
    }
    p->at++;
    MT_TRY(ternary(p, &yes));
    if (peek(p) != ':') {
        return wrong(p, "':' is missing");
    }
    p->at++;
    MT_TRY(ternary(p, &no));
    *value = *value ? yes : no;
    return MT_OK;
}

static enum mt_status name_or_number(struct parse *p, int64_t *value)
{
    size_t from = p->at;
    while (name_char(peek(p))) {
        p->at++;
    }
    struct mt_str word = {p->text.p + from, p->at - from};
    if (word.n == 0) {
        return wrong(p, "a value is missing");
    }
    if (word.p[0] >= '0' && word.p[0] <= '9') {
        *value = 0;
        for (size_t i = 0; i < word.n; i++) {
            *value = *value * 10 + (word.p[i] - '0');
        }
        return MT_OK;
    }
    const struct mt_scope_var *v = mt_scope_find(p->s, word);
    if (!v) {
        return wrong(p, "a variable is not set");
    }
    *value = v->value;
    return MT_OK;
}

static enum mt_status primary(struct parse *p, int64_t *value)
{
    char c = peek(p);
    if (c == '!' || c == '-') {
        p->at++;
        MT_TRY(primary(p, value));
        *value = c == '!' ? !*value : -*value;
        return MT_OK;
    }
    if (c != '(') {
        return name_or_number(p, value);
    }
    p->at++;
    MT_TRY(ternary(p, value));
    if (peek(p) != ')') {
        return wrong(p, "')' is missing");
    }
    p->at++;
    return MT_OK;
}

/* The operator at the cursor that binds at least as tight as `level`; OPERATORS: none. */
static size_t operator_at(const struct parse *p, int level)
{
    struct mt_str rest = {p->text.p + p->at, p->text.n - p->at};
    for (size_t i = 0; i < OPERATORS; i++) {
        if (mt_str_starts(rest, mt_str_from(operators[i].sign))) {
            return operators[i].level >= level ? i : OPERATORS;
        }
    }
    return OPERATORS;
}

static enum mt_status apply(struct parse *p, const char *sign, int64_t b, int64_t *a)
{
    bool failed = false;
    char c = sign[0], second = sign[1];
    if ((c == '/' || c == '%') && b == 0) {
        return mt_fail(p->err, MT_FORMAT, MT_NO_OFFSET, "a size by which others are divided is 0");
    }
    switch (c) {
    case '|': *a = *a || b; break;
    case '&': *a = *a && b; break;
    case '=': *a = *a == b; break;
    case '!': *a = *a != b; break;
    case '<': *a = second ? *a <= b : *a < b; break;
    case '>': *a = second ? *a >= b : *a > b; break;
    case '+': failed = mt_add_overflow(*a, b, a); break;
    case '-': failed = mt_sub_overflow(*a, b, a); break;
    case '*': failed = mt_mul_overflow(*a, b, a); break;
    case '/': *a = *a / b; break;
    default: *a = *a % b; break;
    }
    return failed ? mt_fail(p->err, MT_LIMIT, MT_NO_OFFSET, "a size does not fit 64 bits") : MT_OK;
}

static enum mt_status binary(struct parse *p, int level, int64_t *value)
{
    MT_TRY(primary(p, value));
    for (;;) {
        size_t o = operator_at(p, level);
        int64_t right;
        if (o == OPERATORS) {
            return MT_OK;
        }
        p->at += strlen(operators[o].sign);
        MT_TRY(binary(p, operators[o].level + 1, &right));
        MT_TRY(apply(p, operators[o].sign, right, value));
    }
}

enum mt_status mt_scope_eval(const struct mt_scope *s, struct mt_str expression, int64_t *value,
                             struct mt_error *err)
{
    struct parse p = {.s = s, .text = expression, .err = err};
    MT_TRY(ternary(&p, value));
    return p.at == expression.n ? MT_OK : wrong(&p, "what is left over");
}

/* ---- keys ---- */

static bool is_named(const char *name, struct mt_str word)
{
    return strlen(name) == word.n && memcmp(name, word.p, word.n) == 0;
}

static void note_used(struct mt_scope_object *o, const char *key)
{
    for (size_t i = 0; i < o->n_used; i++) {
        if (o->used[i] == key) {
            return;
        }
    }
    if (o->n_used < MT_SCOPE_KEYS) {
        o->used[o->n_used++] = key;
    }
}

/* "a.b" in an object; what lies on the way counts as asked for. */
static const cJSON *dotted(struct mt_scope_object *o, struct mt_str path)
{
    const cJSON *at = o->object;
    bool top = true;
    while (at && path.n > 0) {
        size_t n = 0;
        while (n < path.n && path.p[n] != '.') {
            n++;
        }
        const cJSON *found = NULL;
        for (const cJSON *c = at->child; cJSON_IsObject(at) && c; c = c->next) {
            found = is_named(c->string, (struct mt_str){path.p, n}) ? c : found;
        }
        if (found && top) {
            note_used(o, found->string);
        }
        at = found;
        top = false;
        n += n < path.n;
        path = (struct mt_str){path.p + n, path.n - n};
    }
    return at;
}

static enum mt_status indexed(struct mt_scope *s, struct mt_str index, const cJSON **item,
                              struct mt_error *err)
{
    int64_t i;
    if (!cJSON_IsArray(*item)) {
        return MT_OK;
    }
    MT_TRY(mt_scope_eval(s, index, &i, err));
    const cJSON *at = (*item)->child;
    for (; at && i > 0; i--) {
        at = at->next;
    }
    *item = i == 0 ? at : NULL;
    return MT_OK;
}

/* One of the alternatives: "b.c", "d[i]". */
static enum mt_status one_key(struct mt_scope *s, struct mt_str key, const cJSON **item,
                              struct mt_error *err)
{
    bool around = key.n > 0 && key.p[0] == '^';
    key = (struct mt_str){key.p + around, key.n - around};
    const char *open = memchr(key.p, '[', key.n);
    struct mt_str name = {key.p, open ? (size_t)(open - key.p) : key.n};
    *item = NULL;
    for (size_t i = s->n_objects; i-- > (around ? 0 : s->n_objects - 1);) {
        const cJSON *found = dotted(&s->objects[i], name);
        *item = *item ? *item : found; /* the innermost, though all were asked for */
    }
    return *item && open ? indexed(s, (struct mt_str){open + 1, key.n - name.n - 2}, item, err)
                         : MT_OK;
}

enum mt_status mt_scope_item(struct mt_scope *s, struct mt_str keys, const cJSON **item,
                             struct mt_error *err)
{
    *item = NULL;
    while (keys.n > 0) {
        size_t n = 0;
        while (n < keys.n && keys.p[n] != '|') {
            n++;
        }
        const cJSON *found;
        MT_TRY(one_key(s, (struct mt_str){keys.p, n}, &found, err));
        /* null gives way to another name that says something */
        *item = !*item || (cJSON_IsNull(*item) && found) ? found : *item;
        n += n < keys.n;
        keys = (struct mt_str){keys.p + n, keys.n - n};
    }
    return MT_OK;
}

enum mt_status mt_scope_number(const cJSON *item, struct mt_str keys, int64_t *value,
                               struct mt_error *err)
{
    if (cJSON_IsBool(item)) {
        *value = cJSON_IsTrue(item) != 0;
        return MT_OK;
    }
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= -1) || item->valuedouble > FIGURE_MAX ||
        item->valuedouble != floor(item->valuedouble)) {
        return mt_fail(err, MT_FORMAT, MT_NO_OFFSET,
                       "%.60s: expected a whole number from 0 to 1e12",
                       item->string ? item->string
                       : keys.p     ? "a list"
                                    : "");
    }
    *value = (int64_t)item->valuedouble;
    return MT_OK;
}
