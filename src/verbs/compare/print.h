/* SPDX-License-Identifier: MIT */
/* The report of compare. Errors: MT_NOMEM. */
#ifndef MEMTOOL_VERBS_COMPARE_PRINT_H
#define MEMTOOL_VERBS_COMPARE_PRINT_H

#include "print/report.h"
#include "verbs/compare/diff.h"

/* Two files and what came of them; r->file is the second. */
struct mt_comparison {
    const char *before_file, *after_file;
    const struct mt_snapshot *before, *after;
    const struct mt_diff *diff;             /* by stack */
    const struct mt_segment_diff *segments; /* with --segments; else NULL */
    int32_t device;                         /* MT_ALL_DEVICES or one */
    bool filtered;
};
enum mt_status mt_report_compare(const struct mt_report *r, const struct mt_comparison *c,
                                 struct mt_error *err) MT_NODISCARD;

#endif
