/* SPDX-License-Identifier: MIT */
/* The report of summary. `one_line`: JSON of one of several files. Errors: MT_NOMEM. */
#ifndef MEMTOOL_VERBS_SUMMARY_PRINT_H
#define MEMTOOL_VERBS_SUMMARY_PRINT_H

#include "print/report.h"
#include "verbs/summary/summary.h"

/* The table of torch.cuda.memory_summary(), one a device; cells that are not known are blank. */
void mt_report_summary_text(const struct mt_report *r, const struct mt_summary *devices, size_t n);
enum mt_status mt_report_summary_json(const struct mt_report *r, const struct mt_summary *devices,
                                      size_t n, bool one_line, struct mt_error *err) MT_NODISCARD;

/* Tables of one log: one row each, with the change to the one before. */
enum mt_status mt_report_logged_text(const struct mt_report *r, const struct mt_logged *l,
                                     struct mt_error *err) MT_NODISCARD;
enum mt_status mt_report_logged_json(const struct mt_report *r, const struct mt_logged *l,
                                     bool one_line, struct mt_error *err) MT_NODISCARD;
/* Two logs, the nth table of a device against the nth of the other. */
enum mt_status mt_report_logged_pair_text(const struct mt_report *r, const struct mt_logged *a,
                                          const struct mt_logged *b, struct mt_error *err)
    MT_NODISCARD;

#endif
