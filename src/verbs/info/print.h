/* SPDX-License-Identifier: MIT */
/* The report of info. Errors: MT_NOMEM. */
#ifndef MEMTOOL_VERBS_INFO_PRINT_H
#define MEMTOOL_VERBS_INFO_PRINT_H

#include "heap/sums/account.h"
#include "heap/sums/totals.h"
#include "heap/sums/trust.h"
#include "print/report.h"

/* What info found, of the whole file; all borrowed. */
struct mt_info {
    const struct mt_snapshot *snapshot;
    const struct mt_totals *totals;
    const struct mt_accounts *accounts;
    const struct mt_trust *trust;
};
struct mt_logged;

/* The same of figures that a program printed. */
enum mt_status mt_report_info_logged(const struct mt_report *r, const struct mt_logged *l,
                                     bool one_line, struct mt_error *err) MT_NODISCARD;

/* What the file is: format, era, devices, settings, trust. */
enum mt_status mt_report_info(const struct mt_report *r, const struct mt_info *x, bool one_line,
                              struct mt_error *err) MT_NODISCARD;

#endif
