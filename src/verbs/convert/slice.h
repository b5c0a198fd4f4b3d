/* SPDX-License-Identifier: MIT */
/* The part of a snapshot that a filter lets through, as a snapshot of its own. */
#ifndef MEMTOOL_VERBS_CONVERT_SLICE_H
#define MEMTOOL_VERBS_CONVERT_SLICE_H

#include "heap/stacks/filter.h"
#include "snapshot/model/view.h"
#include "support/error.h"

/*
 * Keeps the segments, events and annotations that pass `filter` (device, stream, pool, events,
 * time, annotation; others must be open). Where the end of a device's trace is cut off, its
 * segments become those of the moment after the last event that stays. Errors: MT_NOMEM,
 * MT_NOT_FOUND (mt_filtered_check).
 */
enum mt_status mt_view_slice(struct mt_view *v, const struct mt_filter *filter,
                             struct mt_error *err) MT_NODISCARD;

#endif
