/* SPDX-License-Identifier: MIT */
/* Where settings come from: the variables in their precedence, and assignments in texts. */
#include "verbs/conf/conf_explain.h"

static const char *const NAMES[MT_CONF_VARIABLE_COUNT] = {
    "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};

const char *mt_conf_variable_name(enum mt_conf_variable v)
{
    return NAMES[v];
}

enum mt_conf_variable mt_conf_variable_read(mt_torch_release release,
                                            const char *const values[MT_CONF_VARIABLE_COUNT])
{
    static const enum mt_conf_variable any_first[] = {MT_CONF_VARIABLE_ANY, MT_CONF_VARIABLE_CUDA,
                                                      MT_CONF_VARIABLE_HIP};
    static const enum mt_conf_variable any_last[] = {MT_CONF_VARIABLE_CUDA, MT_CONF_VARIABLE_HIP,
                                                     MT_CONF_VARIABLE_ANY};
    const enum mt_conf_variable *order = release >= 209 && release <= 211 ? any_first : any_last;
    size_t n = release >= 209 ? 3 : 2; /* PYTORCH_ALLOC_CONF is new in 2.9 */
    for (size_t i = 0; i < n; i++) {
        if (values[order[i]]) {
            return order[i];
        }
    }
    return MT_CONF_VARIABLE_COUNT;
}

/* ---- in a text ---- */

static bool is_name_char(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* "try setting X=...", "set X=...": advice, not a setting. */
static bool is_advice(struct mt_str text, size_t at)
{
    while (at > 0 && text.p[at - 1] == ' ') {
        at--;
    }
    size_t end = at;
    while (at > 0 && is_name_char(text.p[at - 1])) {
        at--;
    }
    struct mt_str word = {text.p + at, end - at};
    return mt_str_equal(word, MT_STR("set")) || mt_str_equal(word, MT_STR("setting")) ||
           mt_str_equal(word, MT_STR("Set")) || mt_str_equal(word, MT_STR("Setting")) ||
           mt_str_equal(word, MT_STR("use")) || mt_str_equal(word, MT_STR("and"));
}

/* The value behind NAME: after "=", ": " or "': '", to the end of the quotes or of the word. */
static bool value_behind(struct mt_str text, size_t at, struct mt_str *value)
{
    if (at < text.n && (text.p[at] == '\'' || text.p[at] == '"')) {
        at++;                                   /* 'NAME': 'value' */
        at += at < text.n && text.p[at] == ']'; /* environ["NAME"] = "value" */
    }
    while (at < text.n && text.p[at] == ' ') {
        at++;
    }
    if (at == text.n || (text.p[at] != '=' && text.p[at] != ':')) {
        return false;
    }
    at++;
    while (at < text.n && text.p[at] == ' ') {
        at++;
    }
    char quote = at < text.n && (text.p[at] == '\'' || text.p[at] == '"') ? text.p[at] : '\0';
    at += quote != '\0';
    size_t end = at;
    while (end < text.n && text.p[end] != '\n' && text.p[end] != '\r' &&
           (quote ? text.p[end] != quote : text.p[end] != ' ' && text.p[end] != ';')) {
        end++;
    }
    *value = (struct mt_str){text.p + at, end - at};
    return mt_str_find(*value, MT_STR(":")) != SIZE_MAX;
}

bool mt_conf_find(struct mt_str text, struct mt_str *conf, enum mt_conf_variable *variable)
{
    bool found = false;
    size_t at = 0;
    for (size_t next; (next = mt_str_find((struct mt_str){text.p + at, text.n - at},
                                          MT_STR("_ALLOC_CONF"))) != SIZE_MAX;) {
        size_t end = at + next + strlen("_ALLOC_CONF"), begin = at + next;
        while (begin > 0 && is_name_char(text.p[begin - 1])) {
            begin--;
        }
        struct mt_str name = {text.p + begin, end - begin}, value;
        for (size_t v = 0; v < MT_CONF_VARIABLE_COUNT; v++) {
            if (mt_str_equal(name, mt_str_from(NAMES[v])) && !is_advice(text, begin) &&
                value_behind(text, end, &value)) {
                *conf = value;
                *variable = (enum mt_conf_variable)v;
                found = true;
            }
        }
        at = end;
    }
    return found;
}

/* ---- pasted ---- */

#define MEMTOOL_VARIABLE "MEMTOOL_ALLOC_CONF"

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* The variable that ends at `end`, or NULL. */
static const char *variable_before(struct mt_str text, size_t end)
{
    struct mt_str before = {text.p, end};
    for (size_t v = 0; v < MT_CONF_VARIABLE_COUNT; v++) {
        if (mt_str_ends(before, mt_str_from(NAMES[v]))) {
            return NAMES[v];
        }
    }
    return mt_str_ends(before, MT_STR(MEMTOOL_VARIABLE)) ? MEMTOOL_VARIABLE : NULL;
}

/* The end of a value that begins at `at`: its closing quote, or the blank behind which a program
 * may follow (X=... python train.py); lists and what follows a comma go on. */
static size_t value_end(struct mt_str text, size_t at)
{
    char quote = at > 0 && is_one_of(text.p[at - 1], "\"'") ? text.p[at - 1] : '\0';
    size_t depth = 0, n = at;
    for (; n < text.n; n++) {
        char c = text.p[n];
        bool goes_on = depth > 0 || (n > at && text.p[n - 1] == ',');
        if (quote ? c == quote : is_one_of(c, "\"';\n") || (is_one_of(c, " \t") && !goes_on)) {
            break;
        }
        depth += c == '[';
        depth -= c == ']' && depth > 0;
    }
    return n;
}

void mt_conf_unassign(struct mt_str text, struct mt_str *conf, const char **variable)
{
    size_t at = mt_str_find(text, MT_STR("_ALLOC_CONF"));
    *variable = at == SIZE_MAX ? NULL : variable_before(text, at + strlen("_ALLOC_CONF"));
    if (!*variable) {
        *conf = text; /* quotes in it are what PyTorch would read, and refuse */
        return;
    }
    for (at += strlen("_ALLOC_CONF"); at < text.n && is_one_of(text.p[at], "\"'] =:\t");) {
        at++;
    }
    size_t end = value_end(text, at);
    while (end > at && is_one_of(text.p[end - 1], "\"' ;\t\n")) {
        end--;
    }
    *conf = (struct mt_str){text.p + at, end - at};
}
