/* SPDX-License-Identifier: MIT */
/* Which annotations are open while one walks a trace. */
#ifndef MEMTOOL_HEAP_STACKS_ANNOTATION_CURSOR_H
#define MEMTOOL_HEAP_STACKS_ANNOTATION_CURSOR_H

#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"

struct mt_annotation_cursor {
    const struct mt_snapshot *snapshot;
    MT_VEC(uint32_t) order; /* annotations of the device, by time */
    size_t next;
    MT_VEC(uint32_t) open; /* string ids of their names, innermost last */
};

/* For the annotations of `device` and of none. Errors: MT_NOMEM. Release it also after a failure.
 */
enum mt_status mt_annotation_cursor_init(struct mt_annotation_cursor *c,
                                         const struct mt_snapshot *s, int32_t device,
                                         struct mt_error *err) MT_NODISCARD;
void mt_annotation_cursor_release(struct mt_annotation_cursor *c);

/* Moves on to `time_us` (never back; MT_NO_TIME stays); true when `open` changed. */
bool mt_annotation_cursor_move(struct mt_annotation_cursor *c, int64_t time_us);

#endif
