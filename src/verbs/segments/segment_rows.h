/* SPDX-License-Identifier: MIT */
/* One row a segment: what lives in it and what is free. */
#ifndef MEMTOOL_VERBS_SEGMENTS_SEGMENT_ROWS_H
#define MEMTOOL_VERBS_SEGMENTS_SEGMENT_ROWS_H

#include "heap/stacks/filter.h"
#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"

/* All in bytes but for the counts. Only blocks that pass the filter are counted, but for free ones,
 * which belong to no stack. */
struct mt_segment_row {
    uint32_t segment; /* index into mt_snapshot.segments, or host_segments with device -1 */
    int32_t device;
    uint64_t size;
    uint64_t allocated, active, requested;
    uint64_t free;      /* sizes of inactive blocks */
    uint64_t free_hole; /* the largest of them */
    uint64_t live_blocks, free_blocks;
    uint32_t top_stack; /* stack with most active bytes in it */
    uint64_t top_bytes; /* those; 0: nothing lives here */
};

enum mt_segment_sort {
    MT_SEGMENTS_BY_SIZE, /* largest first, then by address */
    MT_SEGMENTS_BY_ADDR,
    MT_SEGMENTS_BY_FREE,
    MT_SEGMENTS_BY_ALLOCATED,
    MT_SEGMENTS_BY_COUNT /* live blocks */
};

struct mt_segment_rows {
    MT_VEC(struct mt_segment_row) rows; /* devices ascending, then as sorted */
    struct mt_segment_row sum;          /* of all rows; free_hole: the largest */
    size_t left_out;                    /* segments that the filter removed */
};

/* Segments that pass `f`; with a filter on blocks, only those where a block passes. O(n log n).
 * Errors: MT_NOMEM. Release it also after a failure. */
enum mt_status mt_segment_rows_find(struct mt_segment_rows *t, const struct mt_snapshot *s,
                                    struct mt_filtered *f, enum mt_segment_sort sort, bool reverse,
                                    struct mt_error *err) MT_NODISCARD;
void mt_segment_rows_release(struct mt_segment_rows *t);

#endif
