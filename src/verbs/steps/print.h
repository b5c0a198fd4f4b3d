/* SPDX-License-Identifier: MIT */
/* The report of steps, of all devices of a file. `one_line`: JSON of one of several files. Errors:
 * MT_NOMEM. */
#ifndef MEMTOOL_VERBS_STEPS_PRINT_H
#define MEMTOOL_VERBS_STEPS_PRINT_H

#include "heap/findings/steps.h"
#include "print/report.h"

/* `phases`: a row for each phase of each step. */
enum mt_status mt_report_steps_text(const struct mt_report *r, const struct mt_snapshot *s,
                                    const struct mt_trace_steps *devices, size_t n, bool phases,
                                    struct mt_error *err) MT_NODISCARD;
enum mt_status mt_report_steps_json(const struct mt_report *r, const struct mt_snapshot *s,
                                    const struct mt_trace_steps *devices, size_t n, bool one_line,
                                    struct mt_error *err) MT_NODISCARD;

#endif
