/* SPDX-License-Identifier: MIT */
/* What pictures say about stacks and moments. */
#ifndef MEMTOOL_DRAW_LABEL_H
#define MEMTOOL_DRAW_LABEL_H

#include "draw/scene.h"

/* Two lines for a stack: the first frame that is the user's own ("train.py:72 train_lm"), and where
 * that led ("cross_entropy, functional.py:3504") or, when it is the innermost one, who called it;
 * the second may be empty. */
struct mt_label {
    struct mt_buf main, sub;
    struct mt_buf name, place; /* the same frame in two lines, for where main is too long */
};
void mt_label_stack(struct mt_label *l, const struct mt_plot_style *style,
                    const struct mt_snapshot *s, uint32_t stack);

/* Labels of one legend with the same text: their second line becomes the frame at which the stacks
 * differ, "differs at module.py:965 convert", or how deep they are. labels[i] names stacks[i]. */
#define MT_LABELS_MOST 66
void mt_labels_distinguish(struct mt_label *const *labels, const uint32_t *stacks, size_t n,
                           const struct mt_plot_style *style, const struct mt_snapshot *s);

/* Whether their two lines are the same; whether they would be but for the line of the caller. */
bool mt_label_same(const struct mt_label *a, const struct mt_label *b);
bool mt_label_differs_by_caller(const struct mt_label *a, const struct mt_label *b);

void mt_label_release(struct mt_label *l);
/* Memory ran out somewhere in it. */
bool mt_label_failed(const struct mt_label *l);

/* The first frames of a stack, one a line behind a newline each; at most `max`, then how many are
 * left. */
void mt_label_frames(struct mt_buf *b, const struct mt_plot_style *style,
                     const struct mt_snapshot *s, uint32_t stack, size_t max);

/* "event 1,234", or "the start" for SIZE_MAX. */
void mt_label_event(struct mt_buf *b, size_t event);

#endif
