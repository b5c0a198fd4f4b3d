/* SPDX-License-Identifier: MIT */
/* Who holds the blocks of a state: the largest stacks with their colours, and the others. */
#ifndef MEMTOOL_VERBS_PLOTS_SEGMENTS_HOLDERS_H
#define MEMTOOL_VERBS_PLOTS_SEGMENTS_HOLDERS_H

#include "draw/palette.h"
#include "heap/walk/state.h"
#include "heap/walk/timeline.h"

#define MT_HOLDERS 11

struct mt_holder {
    uint32_t stack;
    uint64_t bytes; /* as asked for, pending ones included: what timelines count */
    size_t count;
};

struct mt_holders {
    struct mt_holder top[MT_HOLDERS]; /* most bytes first */
    uint32_t colors[MT_HOLDERS];
    size_t n;
    struct mt_holder others; /* sums of the rest */
    size_t n_others;         /* stacks */
    uint64_t rounding;       /* what the blocks of all of them have beyond that */
};

/* `look` (NULL: none) has the first choice of colours. False when out of memory. */
bool mt_holders_find(struct mt_holders *h, const struct mt_snapshot *s, const struct mt_state *st,
                     const struct mt_theme *theme, const struct mt_timeline *look);

/* Index of a stack in `top`, or h->n. */
size_t mt_holders_index(const struct mt_holders *h, uint32_t stack);

uint32_t mt_holders_color(const struct mt_holders *h, const struct mt_theme *theme, uint32_t stack);

#endif
