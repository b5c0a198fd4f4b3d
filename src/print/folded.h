/* SPDX-License-Identifier: MIT */
/* Stacks as folded lines. Errors: MT_NOMEM. */
#ifndef MEMTOOL_PRINT_FOLDED_H
#define MEMTOOL_PRINT_FOLDED_H

#include "heap/stacks/filter.h"
#include "print/report.h"

/* The peer's folded lines; `prefix` goes in front of each ("only_before;"), `by_segment` adds the
 * segment's address. */
enum mt_status mt_report_folded(const struct mt_report *r, const struct mt_snapshot *s,
                                struct mt_filtered *f, bool by_segment, struct mt_error *err)
    MT_NODISCARD;
/* The same for some segments only: indexes into s->segments. */
enum mt_status mt_report_folded_some(const struct mt_report *r, const struct mt_snapshot *s,
                                     const uint32_t *segments, size_t n, const char *prefix,
                                     struct mt_error *err) MT_NODISCARD;

#endif
