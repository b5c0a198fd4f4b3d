/* SPDX-License-Identifier: MIT */
/*
 * What a device had reserved at any moment of its trace, by undoing its events from the end. Which
 * pool an address was of follows from it: that of the segment that lies there then, not of the one
 * at the end, since the driver hands addresses out again.
 */
#ifndef MEMTOOL_HEAP_WALK_PAST_SEGMENTS_H
#define MEMTOOL_HEAP_WALK_PAST_SEGMENTS_H

#include "snapshot/model/model.h"
#include "support/vec.h"
#include "torch/torch_rules.h"

/* The kind of mapped memory that was unmapped before the end. */
#define MT_POOL_KIND_NOT_KNOWN MT_POOL_KIND_COUNT

struct mt_past_segments {
    const struct mt_snapshot *s; /* borrowed */
    int32_t device;
    const struct mt_event *events; /* of the device */
    size_t first;                  /* index of events[0] in the snapshot */
    size_t n;
    MT_VEC(struct mt_segment) v; /* sorted by address, not empty, not overlapping */
    size_t unmatched;            /* events that did not fit */
};

/* At the end. False: no memory. Release it also then. */
bool mt_past_segments_init(struct mt_past_segments *p, const struct mt_snapshot *s, int32_t device)
    MT_NODISCARD;
void mt_past_segments_release(struct mt_past_segments *p);

/* Undoes event `index` of the device's trace, the last that is not undone. False: no memory. */
bool mt_past_segments_undo(struct mt_past_segments *p, size_t index) MT_NODISCARD;

/* Index in p->v of the first segment that ends behind addr. O(log n). */
size_t mt_past_segments_search(const struct mt_past_segments *p, uint64_t addr);
/* The segment that holds addr, or NULL. */
const struct mt_segment *mt_past_segments_find(const struct mt_past_segments *p, uint64_t addr);

/* Where it ends, UINT64_MAX at most. */
uint64_t mt_segment_end(const struct mt_segment *g);

#endif
