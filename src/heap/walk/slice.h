/* SPDX-License-Identifier: MIT */
/* A part of a snapshot as a snapshot of its own: what a filter lets through, or all up to a moment.
 */
#ifndef MEMTOOL_HEAP_WALK_SLICE_H
#define MEMTOOL_HEAP_WALK_SLICE_H

#include "heap/stacks/filter.h"
#include "heap/walk/moment.h"
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

/*
 * The snapshot as if it had been taken at the moment: each trace ends there, and the segments are
 * those of then. Devices that do not have the moment are left out, as long as one has it. END
 * changes nothing. Errors: MT_NOMEM; those of mt_moment_find, when no device has the moment.
 */
enum mt_status mt_view_at(struct mt_view *v, const struct mt_moment *at, struct mt_error *err)
    MT_NODISCARD;

#endif
