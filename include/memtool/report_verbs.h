/* SPDX-License-Identifier: MIT */
/*
 * The reports of info, stats, trace, segments, memory and compare. Each takes results and prints
 * them as r asks: text, JSON, CSV. Errors of all: MT_NOMEM.
 */
#ifndef MEMTOOL_REPORT_VERBS_H
#define MEMTOOL_REPORT_VERBS_H

#include <memtool/diff.h>
#include <memtool/era.h>
#include <memtool/filter.h>
#include <memtool/fold.h>
#include <memtool/replay.h>
#include <memtool/report.h>
#include <memtool/totals.h>
#include <memtool/trust.h>

/* ---- shared ---- */

/* "stream 1 (0x55d0c0de)", "stream 0"; the number is what --stream takes. */
void mt_stream_label(struct mt_buf *b, const struct mt_snapshot *s, uint16_t stream);

/* "pool 2,0 (CUDA graph)", "pool 0,1 (MemPool)"; "" for the default pool. */
void mt_pool_label(struct mt_buf *b, struct mt_pool_id id);

/* One fact for people, without the "note:". */
void mt_trust_text(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                   const struct mt_trust_fact *fact);

/* The trust banner: a "note:" line for each fact that limits what can be said, and with -v for the
 * others; nothing when there is none. */
enum mt_status mt_report_trust(const struct mt_report *r, const struct mt_snapshot *s,
                               const struct mt_trust *trust, struct mt_error *err) MT_NODISCARD;

/* ---- stats ---- */

/* `one_line`: JSON of several files. */
enum mt_status mt_report_stats_json(const struct mt_report *r, const struct mt_snapshot *s,
                                    const struct mt_totals *t, bool one_line, struct mt_error *err)
    MT_NODISCARD;
/* `f`: the filter that `t` was made with. */
enum mt_status mt_report_stats_text(const struct mt_report *r, const struct mt_snapshot *s,
                                    const struct mt_filtered *f, const struct mt_totals *t,
                                    const struct mt_trust *trust,
                                    struct mt_error *err) MT_NODISCARD;
/* The counters of every device, pool and stream as one table. */
enum mt_status mt_report_stats_csv(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_totals *t, struct mt_error *err) MT_NODISCARD;

#endif
