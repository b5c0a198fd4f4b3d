/* SPDX-License-Identifier: MIT */
/* The report of compare. Errors: MT_NOMEM. */
#ifndef MEMTOOL_VERBS_COMPARE_PRINT_H
#define MEMTOOL_VERBS_COMPARE_PRINT_H

#include "print/report.h"
#include "verbs/compare/diff.h"
#include "verbs/compare/differences.h"

/* Two files and what came of them. */
struct mt_comparison {
    const struct mt_compare_options *options;
    const struct mt_compare_side *before, *after;
    struct mt_diff *diff;
    struct mt_differences *differences;
    struct mt_segment_diff *segments; /* with --segments; else NULL */
    bool filtered;
};

/* `n` comparisons with one and the same file; r->file is the last of the others. */
enum mt_status mt_report_compare(const struct mt_report *r, const struct mt_comparison *list,
                                 size_t n, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_report_compare_json(const struct mt_report *r, const struct mt_comparison *list,
                                      size_t n, struct mt_error *err) MT_NODISCARD;

/* The stack of a row, in the snapshot that has it: the later one where both do. */
const struct mt_snapshot *mt_compare_row_stack(const struct mt_comparison *c,
                                               const struct mt_diff_row *row, uint32_t *stack);

#endif
