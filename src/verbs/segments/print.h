/* SPDX-License-Identifier: MIT */
/* The report of segments. `one_line`: JSON of one of several files. Errors: MT_NOMEM. */
#ifndef MEMTOOL_VERBS_SEGMENTS_PRINT_H
#define MEMTOOL_VERBS_SEGMENTS_PRINT_H

#include "heap/stacks/filter.h"
#include "print/report.h"
#include "verbs/segments/segment_rows.h"

enum mt_status mt_report_segments(const struct mt_report *r, const struct mt_snapshot *s,
                                  struct mt_filtered *f, const struct mt_segment_rows *rows,
                                  bool one_line, struct mt_error *err) MT_NODISCARD;

#endif
