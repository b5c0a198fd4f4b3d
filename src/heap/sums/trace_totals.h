/* SPDX-License-Identifier: MIT */
/* The scan of the events behind mt_totals_find. */
#ifndef MEMTOOL_HEAP_SUMS_TRACE_TOTALS_H
#define MEMTOOL_HEAP_SUMS_TRACE_TOTALS_H

#include "heap/sums/totals.h"
#include "heap/walk/replay.h"

/* Fills d->trace and the allocs of d->sizes; the blocks of `d` must have been counted. */
void mt_trace_totals_find(struct mt_device_totals *d, const struct mt_snapshot *s,
                          struct mt_filtered *f);

#endif
