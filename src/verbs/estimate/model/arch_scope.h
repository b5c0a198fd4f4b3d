/* SPDX-License-Identifier: MIT */
/* Private to estimate/: variables, keys of the config, and expressions over them. */
#ifndef MEMTOOL_VERBS_ESTIMATE_MODEL_ARCH_SCOPE_H
#define MEMTOOL_VERBS_ESTIMATE_MODEL_ARCH_SCOPE_H

#include <cjson/cJSON.h>

#include "support/error.h"
#include "support/str.h"

enum { MT_SCOPE_VARS = 96, MT_SCOPE_DEPTH = 4, MT_SCOPE_KEYS = 400 };

struct mt_scope_var {
    struct mt_str name;
    int64_t value;
};

/* The object whose keys are read, those around it, and which of its keys were asked for. */
struct mt_scope_object {
    const cJSON *object;
    const char *path; /* "text_config", "" for the whole */
    const char *used[MT_SCOPE_KEYS];
    size_t n_used;
};

struct mt_scope {
    struct mt_scope_var vars[MT_SCOPE_VARS];
    size_t n_vars;
    struct mt_scope_object objects[MT_SCOPE_DEPTH];
    size_t n_objects;
};

/* Sets a variable, which replaces one of the same name. Errors: MT_INTERNAL (too many). */
enum mt_status mt_scope_set(struct mt_scope *s, struct mt_str name, int64_t value,
                            struct mt_error *err) MT_NODISCARD;
const struct mt_scope_var *mt_scope_find(const struct mt_scope *s, struct mt_str name);

/* The value of an expression: numbers, variables, ( ) ! - * / % + < <= > >= == != && || ?:, without
 * blanks. Errors: MT_INTERNAL (not an expression, a variable that is not set), MT_LIMIT (64 bits do
 * not hold it), MT_FORMAT (a division by zero). */
enum mt_status mt_scope_eval(const struct mt_scope *s, struct mt_str expression, int64_t *value,
                             struct mt_error *err) MT_NODISCARD;

/*
 * The item of the first key among "a|b.c|d[EXPRESSION]" that is there, from the innermost object,
 * or with '^' in front also from those around it; NULL when none is. An index takes one item of a
 * list; a value that is no list stands for all.
 */
enum mt_status mt_scope_item(struct mt_scope *s, struct mt_str keys, const cJSON **item,
                             struct mt_error *err) MT_NODISCARD;

/* The item as a whole number: true is 1. Errors: MT_FORMAT. */
enum mt_status mt_scope_number(const cJSON *item, struct mt_str keys, int64_t *value,
                               struct mt_error *err) MT_NODISCARD;

/* Fails with MT_UNSUPPORTED on the first key of the innermost object that by its name decides sizes
 * and that nobody asked for. */
enum mt_status mt_scope_check(const struct mt_scope *s, struct mt_error *err) MT_NODISCARD;

#endif
