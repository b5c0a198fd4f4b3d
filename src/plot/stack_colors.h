/* SPDX-License-Identifier: MIT */
/*
 * The colours of stacks in the pictures of one file. A timeline of the whole trace has the first
 * choice; what a picture shows beyond it is added behind. So a stack has one colour in all pictures
 * of a file, whatever part of it they show.
 */
#ifndef MEMTOOL_PLOT_STACK_COLORS_H
#define MEMTOOL_PLOT_STACK_COLORS_H

#include "palette.h"

/* The bands of two timelines, or those of one and the holders of a state. */
#define MT_STACK_COLORS 132

struct mt_stack_colors {
    uint32_t stacks[MT_STACK_COLORS], colors[MT_STACK_COLORS];
    size_t n;
    unsigned taken; /* bits of hue * 2 + pale */
};

/* Adds the stacks of a timeline that have no colour yet, the largest first. Its neighbours differ
 * in lightness when it is the first. */
void mt_stack_colors_add_bands(struct mt_stack_colors *c, const struct mt_theme *theme,
                               const struct mt_snapshot *s, const struct mt_timeline *t);

/* Adds n stacks that may have a colour already, the most important first. */
void mt_stack_colors_add(struct mt_stack_colors *c, const struct mt_theme *theme,
                         const struct mt_snapshot *s, const uint32_t *stacks, size_t n);

/* `other` for a stack that was not added. */
uint32_t mt_stack_colors_find(const struct mt_stack_colors *c, uint32_t stack, uint32_t other);

#endif
