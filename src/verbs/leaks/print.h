/* SPDX-License-Identifier: MIT */
/* The report of leaks. `one_line`: JSON of one of several files. Errors: MT_NOMEM. */
#ifndef MEMTOOL_VERBS_LEAKS_PRINT_H
#define MEMTOOL_VERBS_LEAKS_PRINT_H

#include "heap/findings/leaks.h"
#include "print/report.h"

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
