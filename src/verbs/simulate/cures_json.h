/* SPDX-License-Identifier: MIT */
/* Verdicts and cures in the reports of the verbs that replay. */
#ifndef MEMTOOL_VERBS_SIMULATE_CURES_JSON_H
#define MEMTOOL_VERBS_SIMULATE_CURES_JSON_H

#include "print/report_json.h"
#include "verbs/simulate/cures.h"

/* "fits", "out_of_memory", "unknown". */
const char *mt_sim_verdict_word(enum mt_sim_verdict v);
/* The same as a cell; in text "out of memory". */
void mt_sim_verdict_cell(struct mt_table *t, const struct mt_report *r, enum mt_sim_verdict v);

/* An object of `list`; `without` is the peak without the cure, in bytes. */
void mt_sim_put_cure(struct mt_out list, const struct mt_snapshot *s,
                     const struct mt_sim_cure *cure, uint64_t without);

#endif
