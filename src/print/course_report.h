/* SPDX-License-Identifier: MIT */
/* Reports of how the memory of one process went, the same in leaks and summary. */
#ifndef MEMTOOL_PRINT_COURSE_REPORT_H
#define MEMTOOL_PRINT_COURSE_REPORT_H

#include "heap/sums/course.h"
#include "print/report.h"

/* A label for mt_course_add_snapshot; ctx is the report. */
void mt_course_stack_label(void *ctx, struct mt_buf *out, const struct mt_snapshot *s,
                           uint32_t stack);

/* The moments and the stacks that grew; `judged`: headed by the verdict, else by the slopes alone.
 * Errors: MT_NOMEM. */
enum mt_status mt_report_course_text(const struct mt_report *r, const struct mt_course *c,
                                     bool judged, struct mt_error *err) MT_NODISCARD;

/* The keys of leaks/1 (`judged`) or summary/1. */
enum mt_status mt_report_course_json(const struct mt_report *r, const struct mt_course *c,
                                     bool judged, bool one_line, struct mt_error *err) MT_NODISCARD;

#endif
