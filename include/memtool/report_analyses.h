/* SPDX-License-Identifier: MIT */
/*
 * The reports of peak, leaks, frag and summary. Each takes results and prints them as r asks: text,
 * JSON, CSV. `one_line`: JSON of one of several files. Errors of all: MT_NOMEM.
 */
#ifndef MEMTOOL_REPORT_ANALYSES_H
#define MEMTOOL_REPORT_ANALYSES_H

#include <memtool/frag.h>
#include <memtool/leaks.h>
#include <memtool/peak.h>
#include <memtool/report.h>
#include <memtool/summary.h>

/* ---- peak ---- */

/* Of all devices of a file, in their order. */
enum mt_status mt_report_peak_text(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_peak *peaks, size_t n, struct mt_error *err)
    MT_NODISCARD;
enum mt_status mt_report_peak_csv(const struct mt_report *r, const struct mt_snapshot *s,
                                  const struct mt_peak *peaks, size_t n, struct mt_error *err)
    MT_NODISCARD;
enum mt_status mt_report_peak_json(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_peak *peaks, size_t n, bool one_line,
                                   struct mt_error *err) MT_NODISCARD;

/* What a row stands for, safe for terminals, appended to b. */
void mt_peak_row_label(struct mt_buf *b, const struct mt_report *r, const struct mt_snapshot *s,
                       enum mt_peak_by by, const struct mt_peak_row *row);

/* ---- leaks ---- */

/* `devices`: the results of each; the first is the one that the verdict is about. `lives` belongs
 * to it. */
struct mt_leaks_result {
    const struct mt_leaks *leaks;
    const struct mt_lifetimes *lives;
    size_t other_devices; /* how many more were looked at, none with a worse verdict */
    uint64_t capacity;    /* 0: not given */
    bool show_temporary, show_pending;
};
enum mt_status mt_report_leaks_text(const struct mt_report *r, const struct mt_snapshot *s,
                                    const struct mt_leaks_result *x, struct mt_error *err)
    MT_NODISCARD;
enum mt_status mt_report_leaks_json(const struct mt_report *r, const struct mt_snapshot *s,
                                    const struct mt_leaks_result *x, bool one_line,
                                    struct mt_error *err) MT_NODISCARD;

/* ---- frag ---- */

struct mt_frag_result {
    struct mt_frag frag;
    struct mt_frag_sources sources;
};
enum mt_status mt_report_frag_text(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_frag_result *devices, size_t n,
                                   struct mt_error *err) MT_NODISCARD;
enum mt_status mt_report_frag_json(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_frag_result *devices, size_t n, bool one_line,
                                   struct mt_error *err) MT_NODISCARD;

/* ---- summary ---- */

/* The table of torch.cuda.memory_summary(), one a device; cells that are not known are blank. */
void mt_report_summary_text(const struct mt_report *r, const struct mt_summary *devices, size_t n);
enum mt_status mt_report_summary_json(const struct mt_report *r, const struct mt_summary *devices,
                                      size_t n, bool one_line, struct mt_error *err) MT_NODISCARD;

/* Tables of one log: one row each, with the change to the one before. */
enum mt_status mt_report_logged_text(const struct mt_report *r, const struct mt_logged *l,
                                     struct mt_error *err) MT_NODISCARD;
enum mt_status mt_report_logged_json(const struct mt_report *r, const struct mt_logged *l,
                                     bool one_line, struct mt_error *err) MT_NODISCARD;
/* Two logs, the nth table of a device against the nth of the other. */
enum mt_status mt_report_logged_pair_text(const struct mt_report *r, const struct mt_logged *a,
                                          const struct mt_logged *b, struct mt_error *err)
    MT_NODISCARD;

#endif
