/* SPDX-License-Identifier: MIT */
/* Names of what holds memory at a moment: a stack, an annotation, a stream; and what it is for,
 * with how surely that is known. */
#ifndef MEMTOOL_PRINT_PEAK_LABEL_H
#define MEMTOOL_PRINT_PEAK_LABEL_H

#include "heap/findings/peak.h"
#include "print/report_json.h"

/* The words of --by, in the order of enum mt_peak_by, NULL behind the last; and the titles of their
 * columns. */
extern const char *const MT_PEAK_BY_WORDS[];
extern const char *const MT_PEAK_BY_TITLES[];

/* What a row stands for, safe for terminals, appended to b. */
void mt_peak_row_label(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                       enum mt_peak_by by, const struct mt_peak_row *row);

/* "high" and so on; NULL: there are no such bytes, or the category is unknown. */
const char *mt_category_sure_word(enum mt_category c, const uint64_t sure[MT_SURE_COUNT]);

/* The next category to name: most bytes first, `unknown` last, those without bytes not at all.
 * `done`: which were; all false at first. MT_CATEGORY_COUNT: no more. */
enum mt_category mt_category_next(bool done[MT_CATEGORY_COUNT],
                                  const uint64_t bytes[MT_CATEGORY_COUNT]);

/* The keys `categories` and `confidence`. */
void mt_out_categories(struct mt_out o, const uint64_t bytes[MT_CATEGORY_COUNT],
                       const uint64_t sure[MT_CATEGORY_COUNT][MT_SURE_COUNT]);

#endif
