/* SPDX-License-Identifier: MIT */
#ifndef MEMTOOL_VERBS_FRAG_PRINT_BEHIND_H
#define MEMTOOL_VERBS_FRAG_PRINT_BEHIND_H

#include "verbs/frag/print.h"

/* The pattern behind a large cache and what each cure would save; nothing where neither is known.
 * Errors: MT_NOMEM. */
enum mt_status mt_report_frag_behind(const struct mt_report *r, const struct mt_snapshot *s,
                                     const struct mt_frag_result *x, struct mt_error *err)
    MT_NODISCARD;

#endif
