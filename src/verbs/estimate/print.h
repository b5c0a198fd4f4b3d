/* SPDX-License-Identifier: MIT */
/* The estimate printed: terms, tensors, what fits, and what a snapshot found. */
#ifndef MEMTOOL_VERBS_ESTIMATE_PRINT_H
#define MEMTOOL_VERBS_ESTIMATE_PRINT_H

#include "print/report.h"

#include "verbs/estimate/estimate.h"
#include "verbs/estimate/turned.h"

/* What a snapshot holds at its peak, by category; -1 for terms it cannot tell. */
struct mt_estimate_found {
    const char *file;
    int64_t bytes[MT_TERM_COUNT];
    uint64_t peak, reserved, unknown; /* requested and reserved at the peak; without a category */
};

struct mt_estimate_answer {
    const struct mt_model *m;
    const struct mt_estimate_options *o;
    const struct mt_estimate *e;
    const struct mt_turned *turned;
    const struct mt_serving *serving;      /* NULL: not asked */
    const struct mt_estimate_found *found; /* NULL: not asked */
};

/* Errors of all: MT_NOMEM. */
enum mt_status mt_report_estimate_text(const struct mt_report *r,
                                       const struct mt_estimate_answer *a, struct mt_error *err)
    MT_NODISCARD;
enum mt_status mt_report_estimate_json(const struct mt_report *r,
                                       const struct mt_estimate_answer *a, struct mt_error *err)
    MT_NODISCARD;
/* All tensors, those of equal layers in one row. */
enum mt_status mt_report_tensors(const struct mt_report *r, const struct mt_model *m,
                                 struct mt_error *err) MT_NODISCARD;
/* 7, 13 and 70 billion parameters in the two accounts in use. */
enum mt_status mt_report_estimate_table(const struct mt_report *r, struct mt_error *err)
    MT_NODISCARD;
/* The largest models of a card. */
enum mt_status mt_report_ways(const struct mt_report *r, uint64_t card, struct mt_error *err)
    MT_NODISCARD;

#endif
