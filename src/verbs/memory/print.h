/* SPDX-License-Identifier: MIT */
/* The report of memory. `one_line`: JSON of one of several files. Errors: MT_NOMEM. */
#ifndef MEMTOOL_VERBS_MEMORY_PRINT_H
#define MEMTOOL_VERBS_MEMORY_PRINT_H

#include "heap/stacks/fold.h"
#include "heap/sums/totals.h"
#include "print/report.h"

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

#endif
