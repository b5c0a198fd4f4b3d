/* SPDX-License-Identifier: MIT */
/*
 * The reports of peak, leaks, frag and summary. Each takes results and prints them as r asks: text,
 * JSON, CSV. `one_line`: JSON of one of several files. Errors of all: MT_NOMEM.
 */
#ifndef MEMTOOL_REPORT_ANALYSES_H
#define MEMTOOL_REPORT_ANALYSES_H

#include <memtool/leaks.h>
#include <memtool/peak.h>
#include <memtool/report.h>

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

#endif
