/* SPDX-License-Identifier: MIT */
/* Private to estimate/: a run of architectures/, for the statements that arch_statements.c does
 * one by one and those with a body, which arch_run.c does. */
#ifndef MEMTOOL_VERBS_ESTIMATE_MODEL_ARCH_STATEMENT_H
#define MEMTOOL_VERBS_ESTIMATE_MODEL_ARCH_STATEMENT_H

#include "verbs/estimate/model/arch_scope.h"
#include "verbs/estimate/model/parts.h"

enum { MT_ARCH_WORDS = 16 };

/* The text in lines, and the numbers of those that begin a model or block. */
struct mt_arch_lines {
    MT_VEC(struct mt_str) all;
    MT_VEC(size_t) heads;
};

struct mt_arch {
    struct mt_model *m;
    struct mt_scope scope;
    struct mt_arch_lines lines;
    struct mt_str where; /* what names begin with */
    uint32_t layer;
    uint64_t count, active; /* copies of what is named: experts */
    bool expert, tower;
    int nesting; /* of blocks */
    struct mt_error *err;
};

/* A line in words: the statement and its arguments. */
struct mt_arch_statement {
    struct mt_str w[MT_ARCH_WORDS];
    size_t n;
};

/* Whether `word` is one of "a,b,c". */
bool mt_arch_listed(struct mt_str list, struct mt_str word);

/* The expression that is word `at`, or `otherwise` where there are fewer words. */
enum mt_status mt_arch_eval(struct mt_arch *x, const struct mt_arch_statement *s, size_t at,
                            int64_t otherwise, int64_t *value) MT_NODISCARD;
/* The same of a size, which must not be negative. */
enum mt_status mt_arch_size(struct mt_arch *x, const struct mt_arch_statement *s, size_t at,
                            uint64_t otherwise, uint64_t *value) MT_NODISCARD;

/* MT_FORMAT: the key is not there. */
enum mt_status mt_arch_missing(struct mt_arch *x, struct mt_str keys);

/* Any statement without a body. Errors: MT_INTERNAL (there is no such statement), its own. */
enum mt_status mt_arch_do(struct mt_arch *x, const struct mt_arch_statement *s) MT_NODISCARD;

#endif
