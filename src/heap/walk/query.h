/* SPDX-License-Identifier: MIT */
/* Questions about a snapshot that the file's order does not answer at once. */
#ifndef MEMTOOL_HEAP_WALK_QUERY_H
#define MEMTOOL_HEAP_WALK_QUERY_H

#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"
#include "torch/torch_rules.h"

/* ---- devices ---- */

/* The devices that have segments or events, ascending; empty when zeroed. */
struct mt_devices {
    MT_VEC(int32_t) ids;
};
/* `host`: pinned host memory too, as device -1, when the file has some. Errors: MT_NOMEM. Release
 * it also after a failure. */
enum mt_status mt_devices_find(struct mt_devices *d, const struct mt_snapshot *s, bool host,
                               struct mt_error *err) MT_NODISCARD;
void mt_devices_release(struct mt_devices *d);

/* ---- addresses ---- */

/* The final segments of one device by address. */
struct mt_segment_index {
    const struct mt_snapshot *snapshot; /* borrowed */
    MT_VEC(uint32_t) order;             /* indexes of segments, by address */
    bool host;                          /* then of host_segments */
};
/* `device` -1: the host segments. O(n log n). Errors: MT_NOMEM. */
enum mt_status mt_segment_index_init(struct mt_segment_index *x, const struct mt_snapshot *s,
                                     int32_t device, struct mt_error *err) MT_NODISCARD;
void mt_segment_index_release(struct mt_segment_index *x);

/* The segment that holds the address, or NULL. O(log n). */
const struct mt_segment *mt_segment_index_find(const struct mt_segment_index *x, uint64_t addr);

/* The block of `segment` that holds the address, or NULL. O(log n). */
const struct mt_block *mt_segment_block_find(const struct mt_snapshot *s,
                                             const struct mt_segment *segment, uint64_t addr);

/* Bytes of a block that emptying the cache gives back to the driver: all of a free block that is a
 * segment, the whole pages inside a free block of an expandable one; nothing of private pools,
 * which keep theirs as long as their graph or MemPool lives. (CUDACachingAllocator.cpp,
 * release_cached_blocks and ExpandableSegment::unmap.) */
uint64_t mt_block_releasable(const struct mt_torch_rules *rules, const struct mt_segment *segment,
                             const struct mt_block *block);

#endif
