/* SPDX-License-Identifier: MIT */
/* Ranks: the JSON of earlier runs read back, and the comparison printed. */
#ifndef MEMTOOL_VERBS_RANKS_PRINT_H
#define MEMTOOL_VERBS_RANKS_PRINT_H

#include "print/report.h"
#include "print/report_json.h"
#include "verbs/ranks/ranks.h"

/* Whether text begins like the JSON that memtool prints. */
bool mt_is_rank_results(struct mt_str text);

/*
 * Adds what `stats --json`, `peak --json` and `leaks --json` printed, one object behind the other
 * (on a line each or not), told apart by their "file". Objects of other verbs are passed over.
 * Errors: MT_FORMAT (no JSON, or none of memtool's; with the byte), MT_NOMEM.
 */
enum mt_status mt_ranks_read_results(struct mt_ranks *r, struct mt_str text, struct mt_error *err)
    MT_NODISCARD;

/* Why a rank is odd, in sentences, instead of what b held; and the name of a stack of all ranks,
 * appended to b. */
void mt_rank_reason(struct mt_buf *b, const struct mt_report *r, const struct mt_ranks *ranks,
                    const struct mt_ranks_result *x, const struct mt_rank_outlier *o);
void mt_rank_stack_label(struct mt_buf *b, const struct mt_report *r, const struct mt_ranks *ranks,
                         uint32_t stack);

/* The stages of a pipeline, where they are known: a table, and whether their differences are those
 * of a pipeline. Errors: MT_NOMEM. */
enum mt_status mt_report_stages(const struct mt_report *r, const struct mt_ranks_result *x,
                                struct mt_error *err) MT_NODISCARD;

/* Errors: MT_NOMEM. */
enum mt_status mt_report_ranks_text(const struct mt_report *r, const struct mt_ranks *ranks,
                                    const struct mt_ranks_result *x, struct mt_error *err)
    MT_NODISCARD;
enum mt_status mt_report_ranks_json(const struct mt_report *r, const struct mt_ranks *ranks,
                                    const struct mt_ranks_result *x, struct mt_error *err)
    MT_NODISCARD;
enum mt_status mt_report_ranks_csv(const struct mt_report *r, const struct mt_ranks *ranks,
                                   struct mt_error *err) MT_NODISCARD;

#endif
