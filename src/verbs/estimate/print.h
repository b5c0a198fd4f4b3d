/* SPDX-License-Identifier: MIT */
/* The estimate printed, with what a snapshot says beside it; and the shape of a model read from the
 * config.json of Hugging Face. */
#ifndef MEMTOOL_VERBS_ESTIMATE_PRINT_H
#define MEMTOOL_VERBS_ESTIMATE_PRINT_H

#include "print/report.h"
#include "verbs/estimate/estimate.h"

/*
 * Reads config.json: the names that transformers, and the older models in it, give to layers,
 * hidden size, heads and so on; of a model with several parts the text part. *dtype is set where
 * the file names one. Errors: MT_FORMAT (no JSON, no transformer's shape in it, a number out of
 * range).
 */
enum mt_status mt_model_config_read(struct mt_str text, struct mt_model_shape *m,
                                    enum mt_dtype *dtype, struct mt_error *err) MT_NODISCARD;

/* What a snapshot holds of the states, by category at its peak; -1 for terms it cannot tell. */
struct mt_estimate_found {
    const char *file;
    int64_t bytes[MT_TERM_COUNT];
    uint64_t peak, reserved, unknown; /* requested and reserved at the peak; without a category */
};

/* `found` may be NULL. Errors of both: MT_NOMEM. */
enum mt_status mt_report_estimate_text(const struct mt_report *r, const struct mt_estimate *e,
                                       const struct mt_estimate_options *o,
                                       const struct mt_estimate_found *found, struct mt_error *err)
    MT_NODISCARD;
enum mt_status mt_report_estimate_json(const struct mt_report *r, const struct mt_estimate *e,
                                       const struct mt_estimate_options *o,
                                       const struct mt_estimate_found *found, struct mt_error *err)
    MT_NODISCARD;

/* 7, 13 and 70 billion parameters in the two accounts. Errors: MT_NOMEM. */
enum mt_status mt_report_estimate_table(const struct mt_report *r, struct mt_error *err)
    MT_NODISCARD;

#endif
