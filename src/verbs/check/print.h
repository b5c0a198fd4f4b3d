/* SPDX-License-Identifier: MIT */
/* Budgets kept or broken: one line a file, details, JSON, and JUnit XML for CI systems. */
#ifndef MEMTOOL_VERBS_CHECK_PRINT_H
#define MEMTOOL_VERBS_CHECK_PRINT_H

#include "print/report.h"
#include "verbs/check/budget.h"

/* One file's outcome. */
struct mt_check_outcome {
    const char *file;
    const char *base;  /* that growth is measured from, or NULL */
    const char *error; /* why the file could not be read, or NULL: then there are results */
    size_t n;
    struct mt_budget_result results[MT_BUDGET_RULE_COUNT];
};

/* Whether all rules hold. */
bool mt_check_ok(const struct mt_check_outcome *o);

/* What was found for a rule, in words, appended to b. */
void mt_check_say(struct mt_buf *b, const struct mt_report *r, const struct mt_budget_result *x);

/* One line, and with -v one more a rule. Errors, also of the next: MT_NOMEM. */
enum mt_status mt_report_check_text(const struct mt_report *r, const struct mt_check_outcome *o,
                                    struct mt_error *err) MT_NODISCARD;
enum mt_status mt_report_check_json(const struct mt_report *r, const struct mt_check_outcome *o,
                                    bool one_line, struct mt_error *err) MT_NODISCARD;

/* Every rule is a test case, every file a class; an unreadable file is an error. Errors: MT_NOMEM.
 */
enum mt_status mt_report_check_junit(FILE *to, const struct mt_check_outcome *outcomes, size_t n,
                                     struct mt_error *err) MT_NODISCARD;

/* What is broken or cannot be read as SARIF 2.1.0, which code hosts show beside a change. Errors:
 * MT_NOMEM. */
enum mt_status mt_report_check_sarif(FILE *to, const struct mt_check_outcome *outcomes, size_t n,
                                     struct mt_error *err) MT_NODISCARD;

#endif
