/* SPDX-License-Identifier: MIT */
/* Names of what holds memory at a moment: a stack, an annotation, a stream. */
#ifndef MEMTOOL_PRINT_PEAK_LABEL_H
#define MEMTOOL_PRINT_PEAK_LABEL_H

#include "heap/findings/peak.h"
#include "print/report.h"

/* The words of --by, in the order of enum mt_peak_by, NULL behind the last; and the titles of their
 * columns. */
extern const char *const MT_PEAK_BY_WORDS[];
extern const char *const MT_PEAK_BY_TITLES[];

/* What a row stands for, safe for terminals, appended to b. */
void mt_peak_row_label(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                       enum mt_peak_by by, const struct mt_peak_row *row);

#endif
