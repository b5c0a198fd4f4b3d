/* SPDX-License-Identifier: MIT */
/*
 * The reports of info, stats, trace, segments, memory and compare. Each takes results and prints
 * them as r asks: text, JSON, CSV. Errors of all: MT_NOMEM.
 */
#ifndef MEMTOOL_REPORT_VERBS_H
#define MEMTOOL_REPORT_VERBS_H

#include <memtool/account.h>
#include <memtool/diff.h>
#include <memtool/era.h>
#include <memtool/filter.h>
#include <memtool/fold.h>
#include <memtool/query.h>
#include <memtool/replay.h>
#include <memtool/report.h>
#include <memtool/segment_rows.h>
#include <memtool/totals.h>
#include <memtool/trust.h>

/* ---- shared ---- */

/* "Device 0"; "Pinned host memory" for -1. */
struct mt_size_text mt_device_label(int32_t device);

/* "stream 1 (0x55d0c0de)", "stream 0"; the number is what --stream takes. */
void mt_stream_label(struct mt_buf *b, const struct mt_snapshot *s, uint16_t stream);

/* "pool 2,0 (CUDA graph)", "pool 0,1 (MemPool)"; "" for the default pool. */
void mt_pool_label(struct mt_buf *b, struct mt_pool_id id);

/* What switches the history on for the writer of this file, to be put before "switches it on". */
const char *mt_history_switch(const struct mt_snapshot *s);

/* One fact for people, without the "note:". */
void mt_trust_text(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                   const struct mt_trust_fact *fact);

/* The trust banner: a "note:" line for each fact that limits what can be said, and with -v for the
 * others; nothing when there is none. */
enum mt_status mt_report_trust(const struct mt_report *r, const struct mt_snapshot *s,
                               const struct mt_trust *trust, struct mt_error *err) MT_NODISCARD;

/* ---- stats ---- */

/* What stats found; all borrowed. */
struct mt_stats {
    const struct mt_snapshot *snapshot;
    const struct mt_filtered *filtered; /* the filter that `totals` was made with */
    const struct mt_totals *totals;
    const struct mt_accounts *accounts; /* NULL: the filter leaves memory out */
    const struct mt_trust *trust;       /* for the text */
};
/* `one_line`: JSON of several files. */
enum mt_status mt_report_stats_json(const struct mt_report *r, const struct mt_stats *x,
                                    bool one_line, struct mt_error *err) MT_NODISCARD;
enum mt_status mt_report_stats_text(const struct mt_report *r, const struct mt_stats *x,
                                    struct mt_error *err) MT_NODISCARD;
/* The counters of every device, pool and stream as one table. */
enum mt_status mt_report_stats_csv(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_totals *t, struct mt_error *err) MT_NODISCARD;

/* ---- memory, segments ---- */

/* The peer's folded lines; `prefix` goes in front of each ("only_before;"), `by_segment` adds the
 * segment's address. */
enum mt_status mt_report_folded(const struct mt_report *r, const struct mt_snapshot *s,
                                struct mt_filtered *f, bool by_segment, struct mt_error *err)
    MT_NODISCARD;
/* The same for some segments only: indexes into s->segments. */
enum mt_status mt_report_folded_some(const struct mt_report *r, const struct mt_snapshot *s,
                                     const uint32_t *segments, size_t n, const char *prefix,
                                     struct mt_error *err) MT_NODISCARD;

/* Active memory of one device by stack. */
struct mt_memory_device {
    int32_t device;
    struct mt_stack_sums sums;
    struct mt_counters counters; /* of the whole device, whatever the filter */
};
struct mt_memory_devices {
    MT_VEC(struct mt_memory_device) v;
};
enum mt_status mt_report_memory(const struct mt_report *r, const struct mt_snapshot *s,
                                const struct mt_memory_devices *d, bool one_line,
                                struct mt_error *err) MT_NODISCARD;

enum mt_status mt_report_segments(const struct mt_report *r, const struct mt_snapshot *s,
                                  struct mt_filtered *f, const struct mt_segment_rows *rows,
                                  bool one_line, struct mt_error *err) MT_NODISCARD;

/* ---- compare ---- */

/* Two files and what came of them; r->file is the second. */
struct mt_comparison {
    const char *before_file, *after_file;
    const struct mt_snapshot *before, *after;
    const struct mt_diff *diff;             /* by stack */
    const struct mt_segment_diff *segments; /* with --segments; else NULL */
    int32_t device;                         /* MT_ALL_DEVICES or one */
    bool filtered;
};
enum mt_status mt_report_compare(const struct mt_report *r, const struct mt_comparison *c,
                                 struct mt_error *err) MT_NODISCARD;

/* ---- info ---- */

/* What info found, of the whole file; all borrowed. */
struct mt_info {
    const struct mt_snapshot *snapshot;
    const struct mt_totals *totals;
    const struct mt_accounts *accounts;
    const struct mt_trust *trust;
};
/* What the file is: format, era, devices, settings, trust. */
enum mt_status mt_report_info(const struct mt_report *r, const struct mt_info *x, bool one_line,
                              struct mt_error *err) MT_NODISCARD;

/* ---- trace ---- */

/* What `trace` prints, and in which words. */
struct mt_trace_listing {
    const struct mt_snapshot *snapshot;
    const struct mt_replay *replay; /* of the device */
    struct mt_filtered *filter;
    size_t limit; /* lines, 0 = all */
    bool all;     /* free_completed on a line of its own even right after its free_requested */
};
/* Before the first device: the header object of NDJSON, the titles of CSV. */
enum mt_status mt_report_trace_begin(const struct mt_report *r, const struct mt_snapshot *s,
                                     struct mt_error *err) MT_NODISCARD;
/* The events of one device as they happened, printed while they are walked; JSON is one line an
 * event. */
enum mt_status mt_report_trace(const struct mt_report *r, const struct mt_trace_listing *l,
                               struct mt_error *err) MT_NODISCARD;

#endif
