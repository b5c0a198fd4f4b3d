/* SPDX-License-Identifier: MIT */
/* What the sentences of simulate's text share. */
#ifndef MEMTOOL_VERBS_SIMULATE_PRINT_TEXT_H
#define MEMTOOL_VERBS_SIMULATE_PRINT_TEXT_H

#include "verbs/simulate/print.h"

/* Edits, search, refusals and advice: what stands below the table. */
void mt_sim_print_outcome(const struct mt_report *r, const struct mt_sim_result *v);

static inline const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* For sentences: in lines also where there is no terminal. */
static inline struct mt_report in_lines(const struct mt_report *r)
{
    struct mt_report lines = *r;
    lines.width = r->width ? r->width : 100;
    return lines;
}

static inline bool is_pytorch(const struct mt_sim_result *v)
{
    return mt_str_starts(mt_str_from(v->variable), MT_STR("PYTORCH"));
}

#endif
