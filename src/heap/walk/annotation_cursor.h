/* SPDX-License-Identifier: MIT */
/* Which annotations are open while one walks a trace. */
#ifndef MEMTOOL_HEAP_WALK_ANNOTATION_CURSOR_H
#define MEMTOOL_HEAP_WALK_ANNOTATION_CURSOR_H

#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"

/* A START, or the END of one; an END of nothing is left out. */
struct mt_annotation_mark {
    uint32_t name;
    uint32_t start; /* of an END: the index of its START; of a START: MT_ANNOTATION_START */
    int64_t time_us;
    bool ended;
};
#define MT_ANNOTATION_START UINT32_MAX

struct mt_annotation_cursor {
    MT_VEC(struct mt_annotation_mark) marks; /* of the device, by time */
    size_t next;
    MT_VEC(uint32_t) open; /* indexes of STARTs, innermost last; the last one has not ended */
};

/* For the annotations of `device` and of none, and of these for those whose name `wanted` is true
 * of (NULL: all), which is asked once for each. Errors: MT_NOMEM. Release it also after a failure.
 * O(n log n) for n annotations, with all moves. */
typedef bool mt_annotation_wanted(const void *context, uint32_t name);
enum mt_status mt_annotation_cursor_init(struct mt_annotation_cursor *c,
                                         const struct mt_snapshot *s, int32_t device,
                                         mt_annotation_wanted *wanted, const void *context,
                                         struct mt_error *err) MT_NODISCARD;
void mt_annotation_cursor_release(struct mt_annotation_cursor *c);

/* Moves on to `time_us` (never back; MT_NO_TIME stays); true when a mark was passed. */
bool mt_annotation_cursor_move(struct mt_annotation_cursor *c, int64_t time_us);

/* The name of the innermost annotation that is open, a string id; 0: none is. */
uint32_t mt_annotation_cursor_name(const struct mt_annotation_cursor *c);

/* "step 0" of "## step 0 ##", as pictures print it. */
struct mt_str mt_annotation_plain(struct mt_str name);

#endif
