/* SPDX-License-Identifier: MIT */
/* The sections of the stats report below the overview. Each prints a blank line and a heading
 * first, and nothing at all when it has nothing to say. */
#ifndef MEMTOOL_REPORT_STATS_SECTIONS_H
#define MEMTOOL_REPORT_STATS_SECTIONS_H

#include <memtool/report.h>
#include <memtool/totals.h>

enum mt_status mt_stats_trace(const struct mt_report *r, const struct mt_snapshot *s,
                              const struct mt_device_totals *d, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_stats_sizes(const struct mt_report *r, const struct mt_device_totals *d,
                              struct mt_error *err) MT_NODISCARD;
enum mt_status mt_stats_segment_sizes(const struct mt_report *r, const struct mt_device_totals *d,
                                      struct mt_error *err) MT_NODISCARD;
enum mt_status mt_stats_page_map(const struct mt_report *r, const struct mt_snapshot *s,
                                 const struct mt_filtered *f, const struct mt_device_totals *d,
                                 struct mt_error *err) MT_NODISCARD;

/* The columns of byte counters, and a row of them; `label` is emptied. `device`: with a cell for it
 * in front (CSV), NULL: without. */
void mt_stats_part_columns(struct mt_table *t);
void mt_stats_part(struct mt_table *t, const struct mt_counters *c, struct mt_buf *label,
                   const int32_t *device);
/* Rows for pools, private pools and streams, in text with rules between the kinds. */
void mt_stats_parts(struct mt_table *t, const struct mt_snapshot *s,
                    const struct mt_device_totals *d, struct mt_buf *label, const int32_t *device);

#endif
