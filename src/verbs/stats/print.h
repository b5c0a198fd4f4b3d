/* SPDX-License-Identifier: MIT */
/* The report of stats. Errors: MT_NOMEM. */
#ifndef MEMTOOL_VERBS_STATS_PRINT_H
#define MEMTOOL_VERBS_STATS_PRINT_H

#include "heap/stacks/filter.h"
#include "heap/sums/account.h"
#include "heap/sums/totals.h"
#include "heap/sums/trust.h"
#include "print/report.h"

/* What stats found; all borrowed. */
struct mt_stats {
    const struct mt_snapshot *snapshot;
    const struct mt_filtered *filtered; /* the filter that `totals` was made with */
    const struct mt_totals *totals;
    const struct mt_accounts *accounts; /* NULL: the filter leaves memory out */
    const struct mt_trust *trust;       /* for the text */
};
/* `one_line`: JSON of several files. */
enum mt_status mt_report_stats_json(const struct mt_report *r, const struct mt_stats *x,
                                    bool one_line, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_report_stats_text(const struct mt_report *r, const struct mt_stats *x,
                                    struct mt_error *err) MT_NODISCARD;
/* The counters of every device, pool and stream as one table. */
enum mt_status mt_report_stats_csv(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_totals *t, struct mt_error *err) MT_NODISCARD;

struct mt_logged;
/* The last figures of each process and device that a program printed: stats/1 without what figures
 * do not tell, and text. Errors: MT_NOMEM. */
enum mt_status mt_report_stats_logged_json(const struct mt_report *r, const struct mt_logged *l,
                                           bool one_line, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_report_stats_logged_text(const struct mt_report *r, const struct mt_logged *l,
                                           struct mt_error *err) MT_NODISCARD;

#endif
