/* SPDX-License-Identifier: MIT */
/* The sections of the stats report below the overview. Each prints a blank line and a heading
 * first, and nothing at all when it has nothing to say. */
#ifndef MEMTOOL_VERBS_STATS_STATS_SECTIONS_H
#define MEMTOOL_VERBS_STATS_STATS_SECTIONS_H

#include "heap/sums/totals.h"
#include "print/report.h"

/* Columns of a terminal below which figures are left out that can be read off the rest. */
enum { MT_STATS_NARROW = 72 };

enum mt_status mt_stats_trace(const struct mt_report *r, const struct mt_snapshot *s,
                              const struct mt_device_totals *d, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_stats_sizes(const struct mt_report *r, const struct mt_device_totals *d,
                              struct mt_error *err) MT_NODISCARD;
enum mt_status mt_stats_segment_sizes(const struct mt_report *r, const struct mt_device_totals *d,
                                      struct mt_error *err) MT_NODISCARD;
enum mt_status mt_stats_page_map(const struct mt_report *r, const struct mt_snapshot *s,
                                 const struct mt_filtered *f, const struct mt_device_totals *d,
                                 struct mt_error *err) MT_NODISCARD;

/* The counters by pool, private pool and stream. */
enum mt_status mt_stats_parts(const struct mt_report *r, const struct mt_snapshot *s,
                              const struct mt_device_totals *d, struct mt_error *err) MT_NODISCARD;

#endif
