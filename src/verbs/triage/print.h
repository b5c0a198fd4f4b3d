/* SPDX-License-Identifier: MIT */
/* Printing of a triage. */
#ifndef MEMTOOL_VERBS_TRIAGE_PRINT_H
#define MEMTOOL_VERBS_TRIAGE_PRINT_H

#include "print/report.h"
#include "triage/triage.h"
#include "verbs/triage/triage_pictures.h"

/* Lines of text that fit one screen; with r->verbose everything is printed. */
#define MT_TRIAGE_LINES 30

/* Errors: MT_NOMEM. */
enum mt_status mt_report_triage_text(const struct mt_report *r, const struct mt_triage_result *x,
                                     struct mt_error *err) MT_NODISCARD;
enum mt_status mt_report_triage_json(const struct mt_report *r, const struct mt_triage_result *x,
                                     struct mt_error *err) MT_NODISCARD;

/* One page to hand on, as HTML without a script, with `n` pictures in it, or as Markdown. */
struct mt_triage_page {
    bool html;
    const struct mt_triage_picture *pictures;
    size_t n_pictures;
};
enum mt_status mt_report_triage_page(const struct mt_report *r, const struct mt_triage_result *x,
                                     const struct mt_triage_page *page, struct mt_error *err)
    MT_NODISCARD;

#endif
