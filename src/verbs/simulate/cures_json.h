/* SPDX-License-Identifier: MIT */
/* A cure in the JSON of the verbs that try them. */
#ifndef MEMTOOL_VERBS_SIMULATE_CURES_JSON_H
#define MEMTOOL_VERBS_SIMULATE_CURES_JSON_H

#include "print/report_json.h"
#include "verbs/simulate/cures.h"

/* An object of `list`; `without` is the peak without the cure, in bytes. */
void mt_sim_put_cure(struct mt_out list, const struct mt_snapshot *s,
                     const struct mt_sim_cure *cure, uint64_t without);

#endif
