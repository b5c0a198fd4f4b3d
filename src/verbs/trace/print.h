/* SPDX-License-Identifier: MIT */
/* The report of trace. Errors: MT_NOMEM, MT_LIMIT. */
#ifndef MEMTOOL_VERBS_TRACE_PRINT_H
#define MEMTOOL_VERBS_TRACE_PRINT_H

#include "heap/stacks/filter.h"
#include "heap/walk/replay.h"
#include "print/report.h"

/* What `trace` prints, and in which words. */
struct mt_trace_listing {
    const struct mt_snapshot *snapshot;
    const struct mt_replay *replay; /* of the device */
    struct mt_filtered *filter;
    size_t limit; /* lines, 0 = all */
    bool all;     /* free_completed on a line of its own even right after its free_requested */
    uint64_t max_bytes; /* of JSON for all devices, 0 = no limit */
    uint64_t bytes;     /* that were written of it */
};
/* Before the first device: the header object of NDJSON, the titles of CSV. */
enum mt_status mt_report_trace_begin(const struct mt_report *r, const struct mt_snapshot *s,
                                     struct mt_error *err) MT_NODISCARD;
/* The events of one device as they happened, printed while they are walked; JSON is one line an
 * event. */
enum mt_status mt_report_trace(const struct mt_report *r, struct mt_trace_listing *l,
                               struct mt_error *err) MT_NODISCARD;

#endif
