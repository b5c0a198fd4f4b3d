/* SPDX-License-Identifier: MIT */
/* The report of frag. `one_line`: JSON of one of several files. Errors: MT_NOMEM. */
#ifndef MEMTOOL_VERBS_FRAG_PRINT_H
#define MEMTOOL_VERBS_FRAG_PRINT_H

#include "heap/findings/driver_price.h"
#include "heap/findings/frag.h"
#include "heap/findings/packing.h"
#include "print/report.h"
#include "verbs/frag/frag_cures.h"
#include "verbs/frag/pattern.h"

/* Without --at a device whose trace has an out-of-memory event is shown twice. */
enum mt_frag_part {
    MT_FRAG_ASKED,
    MT_FRAG_BEFORE_UNWINDING, /* at the event */
    MT_FRAG_AFTER_UNWINDING   /* at the end, in short */
};

struct mt_frag_result {
    enum mt_frag_part part;
    struct mt_frag frag;
    struct mt_frag_sources sources;
    uint64_t traced;         /* reserved at the moment, by the trace */
    struct mt_packing ideal; /* of the whole trace, whatever the moment and the filter */
    struct mt_driver_price driver;
    int64_t span_us; /* of the trace, -1: no times */
    /* Where much is not allocated: what asks for it, and what would help. */
    struct mt_pattern pattern;
    struct mt_cures cures;
};
enum mt_status mt_report_frag_text(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_frag_result *devices, size_t n,
                                   struct mt_error *err) MT_NODISCARD;
enum mt_status mt_report_frag_json(const struct mt_report *r, const struct mt_snapshot *s,
                                   const struct mt_frag_result *devices, size_t n, bool one_line,
                                   struct mt_error *err) MT_NODISCARD;

#endif
