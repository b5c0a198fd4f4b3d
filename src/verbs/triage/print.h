/* SPDX-License-Identifier: MIT */
/* Printing of a triage. */
#ifndef MEMTOOL_VERBS_TRIAGE_PRINT_H
#define MEMTOOL_VERBS_TRIAGE_PRINT_H

#include "print/report.h"
#include "triage/triage.h"

/* Lines of text that fit one screen; with r->verbose everything is printed. */
#define MT_TRIAGE_LINES 30

/* Errors: MT_NOMEM. */
enum mt_status mt_report_triage_text(const struct mt_report *r, const struct mt_triage_result *x,
                                     struct mt_error *err) MT_NODISCARD;
enum mt_status mt_report_triage_json(const struct mt_report *r, const struct mt_triage_result *x,
                                     struct mt_error *err) MT_NODISCARD;

/* One page to hand on, as HTML without a script or as Markdown. */
enum mt_status mt_report_triage_page(const struct mt_report *r, const struct mt_triage_result *x,
                                     bool html, struct mt_error *err) MT_NODISCARD;

#endif
