/* SPDX-License-Identifier: MIT */
/* The numbers behind the pictures, as JSON: for those who draw them with another tool. */
#ifndef MEMTOOL_VERBS_PLOTS_PRINT_H
#define MEMTOOL_VERBS_PLOTS_PRINT_H

#include "heap/walk/state.h"
#include "heap/walk/timeline.h"
#include "print/report.h"
#include "verbs/plots/overlay/overlay.h"

struct mt_timeline_result {
    const struct mt_snapshot *snapshot;
    const struct mt_timeline *timeline;
    enum mt_timeline_subject subject;
    struct mt_limit_range limit;      /* of the process, inferred; below = 0: none */
    const struct mt_overlay *overlay; /* of two files, at the second: where they part; or NULL */
};

/* trace_plot/1: of all devices of a file; `one_line`: one of several files. Errors: MT_NOMEM. */
enum mt_status mt_report_timelines(const struct mt_report *r, const struct mt_timeline_result *list,
                                   size_t n, bool one_line, struct mt_error *err) MT_NODISCARD;

struct mt_state_result {
    const struct mt_snapshot *snapshot;
    const struct mt_state *state;
    const char *moment;
};

/* segment_plot/1. Errors: MT_NOMEM. */
enum mt_status mt_report_states(const struct mt_report *r, const struct mt_state_result *list,
                                size_t n, struct mt_error *err) MT_NODISCARD;

#endif
