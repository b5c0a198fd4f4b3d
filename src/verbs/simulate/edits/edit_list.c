/* SPDX-License-Identifier: MIT */
/* Which stacks an edit speaks of is found once, by the same match as --frame. */
#include "verbs/simulate/edits/edit_list.h"

#include <stdlib.h>
#include <string.h>

#include "heap/stacks/filter.h"

#include "cli/frame.h"

/* By stack id: whether a frame of it matches. */
static enum mt_status match_stacks(const struct mt_snapshot *s, const char *pattern, bool **out,
                                   struct mt_error *err)
{
    struct mt_filter filter;
    struct mt_filtered filtered = {0};
    mt_filter_init(&filter);
    MT_TRY(mt_regex_compile(&filter.frame, &filter.has_frame, pattern, err));
    enum mt_status status = mt_filtered_init(&filtered, &filter, s, err);
    bool *stacks = status == MT_OK ? mt_mem_zalloc(s->n_stacks + 1, sizeof *stacks) : NULL;
    for (uint32_t i = 1; stacks && i < s->n_stacks; i++) {
        stacks[i] = mt_filtered_stack(&filtered, i);
    }
    if (status == MT_OK && !stacks) {
        status = mt_fail_nomem(err);
    }
    mt_filtered_release(&filtered);
    mt_filter_release(&filter);
    *out = stacks;
    return status;
}

/* Cuts "=FACTOR" off. */
static enum mt_status split_factor(struct mt_edit_list *l, const char *text,
                                   struct mt_sim_edit *edit, struct mt_error *err)
{
    const char *at = strrchr(text, '=');
    char *end = NULL;
    double factor = at ? strtod(at + 1, &end) : 0;
    if (!at || at == text || end == at + 1 || *end || !(factor > 0 && factor < 1e6)) {
        return mt_fail(err, MT_USAGE, MT_NO_OFFSET,
                       "--scale '%s': wanted is REGEX=FACTOR, the factor above 0 and below 1000000",
                       text);
    }
    size_t n = (size_t)(at - text);
    char *pattern = mt_mem_zalloc(n + 1, 1);
    if (!pattern || !mt_vec_push(&l->owned, pattern)) {
        mt_mem_free(pattern);
        return mt_fail_nomem(err);
    }
    memcpy(pattern, text, n);
    edit->pattern = pattern;
    edit->factor = factor;
    return MT_OK;
}

static enum mt_status add(struct mt_edit_list *l, enum mt_sim_edit_kind kind, const char *text,
                          const struct mt_snapshot *s, struct mt_error *err)
{
    struct mt_sim_edit edit = {.kind = kind, .pattern = text};
    bool *stacks = NULL;
    if (kind == MT_SIM_SCALE) {
        MT_TRY(split_factor(l, text, &edit, err));
    }
    MT_TRY(match_stacks(s, edit.pattern, &stacks, err));
    edit.stacks = stacks;
    if (!mt_vec_push(&l->list, edit)) {
        mt_mem_free(stacks);
        return mt_fail_nomem(err);
    }
    return MT_OK;
}

enum mt_status mt_edit_list_make(struct mt_edit_list *l, const struct mt_texts *texts,
                                 const struct mt_snapshot *s, struct mt_error *err)
{
    for (int kind = 0; kind < MT_SIM_EDITS; kind++) {
        for (size_t i = 0; i < texts[kind].n; i++) {
            MT_TRY(add(l, (enum mt_sim_edit_kind)kind, texts[kind].v[i], s, err));
        }
    }
    return MT_OK;
}

void mt_edit_list_release(struct mt_edit_list *l)
{
    for (size_t i = 0; i < l->list.n; i++) {
        mt_mem_free((void *)(uintptr_t)l->list.v[i].stacks);
    }
    for (size_t i = 0; i < l->owned.n; i++) {
        mt_mem_free(l->owned.v[i]);
    }
    mt_vec_release(&l->list);
    mt_vec_release(&l->owned);
}
