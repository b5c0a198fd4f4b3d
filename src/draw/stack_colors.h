/* SPDX-License-Identifier: MIT */
/*
 * The colours of stacks in the pictures of one file, or in one picture of several. A timeline of
 * the whole trace has the first choice; what a picture shows beyond it is added behind. So a stack
 * has one colour in all pictures of a file, whatever part of it they show. Stacks of several files
 * are one when their frames have the same names and lines.
 */
#ifndef MEMTOOL_DRAW_STACK_COLORS_H
#define MEMTOOL_DRAW_STACK_COLORS_H

#include "draw/palette.h"
#include "heap/walk/timeline.h"
#include "support/vec.h"

/* One of 2 * MT_HUES colours: hue * 2 + pale. */
struct mt_stack_color {
    uint64_t key; /* mt_stack_hue_hash */
    unsigned slot;
};

/* Empty when zeroed; released with mt_vec_release of `list`. */
struct mt_stack_colors {
    MT_VEC(struct mt_stack_color) list;
    unsigned taken; /* bits of slots */
    bool failed;    /* out of memory somewhere */
};

/* Adds the stacks of a timeline that have no colour yet, the largest first. Its neighbours differ
 * in lightness when it is the first. */
void mt_stack_colors_add_bands(struct mt_stack_colors *c, const struct mt_snapshot *s,
                               const struct mt_timeline *t);

/* Adds n stacks that may have a colour already, the most important first. No two of them get the
 * same while there are enough. */
void mt_stack_colors_add(struct mt_stack_colors *c, const struct mt_snapshot *s,
                         const uint32_t *stacks, size_t n);

/* Gives a stack without a colour that of another. */
void mt_stack_colors_share(struct mt_stack_colors *c, const struct mt_snapshot *s, uint32_t stack,
                           unsigned slot);

/* NULL for a stack that was not added. */
const struct mt_stack_color *mt_stack_colors_find(const struct mt_stack_colors *c,
                                                  const struct mt_snapshot *s, uint32_t stack);

/* The colour itself. */
uint32_t mt_stack_color_of(const struct mt_theme *theme, const struct mt_stack_color *color);

#endif
