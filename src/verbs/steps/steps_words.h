/* SPDX-License-Identifier: MIT */
/* Steps in words, the same in reports and in the page. */
#ifndef MEMTOOL_VERBS_STEPS_STEPS_WORDS_H
#define MEMTOOL_VERBS_STEPS_STEPS_WORDS_H

#include "heap/findings/steps.h"
#include "print/report.h"

/* "12 steps, 11 of them whole", "1 pass of the model", appended. There are rows. */
void mt_steps_count(struct mt_buf *b, const struct mt_trace_steps *x);

/* ", each begins at train.py:30 main", appended. */
void mt_steps_say_begin(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                        const struct mt_trace_steps *x);

/* "odd: peak; warm-up", appended: what there is to say of row i. */
void mt_steps_note(struct mt_sentence *b, const struct mt_trace_steps *x, size_t i);

#endif
