/* SPDX-License-Identifier: MIT */
/* What a builder holds, for the two files that work on it. */
#ifndef MEMTOOL_SNAPSHOT_MODEL_BUILDER_PARTS_H
#define MEMTOOL_SNAPSHOT_MODEL_BUILDER_PARTS_H

#include "snapshot/model/builder.h"
#include "support/arena.h"
#include "support/hash.h"
#include "support/vec.h"

struct mt_builder {
    struct mt_arena arena;
    struct mt_intern strings;
    struct mt_intern frame_bytes;
    struct mt_intern stack_bytes;
    struct mt_intern pool_bytes;
    struct mt_intern extra_bytes;
    struct mt_idmap stream_index[2]; /* handle -> index; of those written as negatives, the other */

    MT_VEC(struct mt_event) events;
    MT_VEC(uint32_t) columns[MT_COLUMN_COUNT];
    uint32_t column_defaults[MT_COLUMN_COUNT];
    unsigned columns_used; /* bits 1 << enum mt_event_column */
    MT_VEC(struct mt_event_shape) shapes;
    MT_VEC(struct mt_trace) traces;
    MT_VEC(struct mt_trace) host_traces;
    MT_VEC(struct mt_segment) segments;
    MT_VEC(uint32_t) segment_next;
    MT_VEC(struct mt_device_first) device_firsts;
    MT_VEC(struct mt_segment) host_segments;
    MT_VEC(struct mt_segment) other_segments;
    MT_VEC(struct mt_block) blocks;
    MT_VEC(struct mt_history) history;
    MT_VEC(struct mt_frame) frames;
    MT_VEC(struct mt_stack) stacks;
    MT_VEC(uint32_t) stack_frames;
    MT_VEC(struct mt_stream) streams;
    MT_VEC(struct mt_pool_id) pools;
    MT_VEC(struct mt_annotation) annotations;
    MT_VEC(struct mt_value) values;
    MT_VEC(struct mt_extra) extras;
    MT_VEC(struct mt_odd) odd;
    uint64_t n_unknown;

    uint32_t settings;
    uint32_t own;
    uint32_t extra;
    uint32_t present;
    uint64_t copies, max_copies; /* of records that several name */
    uint64_t max_events;
    bool host_trace_is_flat;
    struct mt_source source;
};

/* Gives each trace, segment and block records of its own (model.h): what somebody else has already
 * is copied behind the others. Errors: MT_NOMEM, MT_LIMIT (too much to copy). */
enum mt_status mt_builder_own_records(struct mt_builder *b, struct mt_error *err) MT_NODISCARD;

#endif
