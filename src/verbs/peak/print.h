/* SPDX-License-Identifier: MIT */
/* The report of peak. `one_line`: JSON of one of several files. Errors: MT_NOMEM. */
#ifndef MEMTOOL_VERBS_PEAK_PRINT_H
#define MEMTOOL_VERBS_PEAK_PRINT_H

#include "heap/findings/peak.h"
#include "print/report.h"

/* Of all devices of a file, in their order. */
enum mt_status mt_report_peak_text(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_peak *peaks, size_t n, struct mt_error *err)
    MT_NODISCARD;
enum mt_status mt_report_peak_csv(const struct mt_report *r, const struct mt_snapshot *s,
                                  const struct mt_peak *peaks, size_t n, struct mt_error *err)
    MT_NODISCARD;
enum mt_status mt_report_peak_json(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_peak *peaks, size_t n, bool one_line,
                                   struct mt_error *err) MT_NODISCARD;

#endif
