/* SPDX-License-Identifier: MIT */
/* The filters that all verbs share: which events, blocks and segments the user wants to look at. */
#ifndef MEMTOOL_HEAP_STACKS_FILTER_H
#define MEMTOOL_HEAP_STACKS_FILTER_H

#include <regex.h>

#include "heap/stacks/event_labels.h"
#include "heap/walk/event_pools.h"
#include "heap/walk/query.h"
#include "snapshot/model/model.h"
#include "support/str.h"
#include "support/error.h"
#include "support/vec.h"
#include "torch/torch_rules.h"

enum mt_pool_choice {
    MT_POOL_ANY,
    MT_POOL_IS_SMALL,
    MT_POOL_IS_LARGE,
    MT_POOL_IS_DEFAULT,
    MT_POOL_IS_PRIVATE,
    MT_POOL_IS_ID
};

/* What can be asked for with a value, in the order in which it is said. */
#define MT_FILTER_VALUES(X)                                                                        \
    X(STREAM, "stream")                                                                            \
    X(POOL, "pool")                                                                                \
    X(SIZE, "size")                                                                                \
    X(EVENTS, "events")                                                                            \
    X(TIME, "time")                                                                                \
    X(FRAME, "frame")                                                                              \
    X(NOT_FRAME, "not-frame")                                                                      \
    X(LABEL, "label")
enum mt_filter_value {
#define X(id, name) MT_FILTER_##id,
    MT_FILTER_VALUES(X)
#undef X
        MT_FILTER_SAYS
};

/* A zeroed filter lets everything through but for the ranges: use mt_filter_init. */
struct mt_filter {
    int32_t device; /* -1: all */
    bool has_stream;
    bool stream_is_index; /* a small number as memtool prints it, else a handle */
    uint64_t stream;
    enum mt_pool_choice pool;
    struct mt_pool_id pool_id;
    uint64_t size_min, size_max;   /* both ends inside */
    uint64_t event_min, event_max; /* index in the device's trace, [min, max) */
    bool has_time;
    bool time_is_absolute;            /* else since the device's first event */
    int64_t time_min_us, time_max_us; /* both ends inside */
    const char *annotation;           /* only inside annotations of this name; NULL: all */
    bool has_frame, has_not_frame, has_label;
    regex_t label;            /* for the label of an allocation or its region (event_labels.h) */
    regex_t frame, not_frame; /* of mt_filter_compile; for mt_frame_path:line mt_frame_function */
    bool live_only, freed_only;
    const char *said[MT_FILTER_SAYS]; /* the values as the user wrote them; borrowed */
};

/* Lets everything through. */
void mt_filter_init(struct mt_filter *f);
void mt_filter_release(struct mt_filter *f);

/* Compiles an extended regular expression for frame and not_frame above, whose matching takes time
 * in proportion to the text. Errors: MT_USAGE: it is none, or it would take too much: one of more
 * than 1000 parts with its repetitions written out, of groups nested more than 100 deep, or that
 * refers back to a group; MT_NOMEM. regfree it after success. */
enum mt_status mt_filter_compile(regex_t *regex, const char *text, struct mt_error *err)
    MT_NODISCARD;

/* "--stream 1 --live": the options that make the filter, but for the device; nothing when open. */
void mt_filter_say(struct mt_buf *b, const struct mt_filter *f);

/* True when the filter lets everything through (so totals are those of the whole file). */
bool mt_filter_is_open(const struct mt_filter *f);

/* The time in which one annotation of the wanted name lasted. */
struct mt_annotation_span {
    int32_t device;           /* -1: any */
    int64_t begin_us, end_us; /* both inside; INT64_MAX when it never ended */
};

/* Compiled against one snapshot: frame and stack matches are cached. Borrowed filter and
 * snapshot. */
struct mt_filtered {
    const struct mt_filter *filter;
    const struct mt_snapshot *snapshot;
    unsigned char *frame_verdict;  /* by frame id; NULL without frame filters */
    unsigned char *stack_verdict;  /* by stack id: 0 unknown, 1 yes, 2 no; NULL likewise */
    struct mt_event_labels labels; /* only when a label is asked for */
    unsigned char *text_verdict;   /* likewise, by string id: 0 unknown, 1 yes, 2 no */
    int64_t *first_us;             /* of each trace, MT_NO_TIME where it gives no times */
    MT_VEC(struct mt_annotation_span) spans;
    MT_VEC(struct mt_event_pools) pools; /* of each trace; only when the pool is asked for */
};
/* A zeroed mt_filtered lets everything through. Errors: MT_NOMEM; release it all the same. */
enum mt_status mt_filtered_init(struct mt_filtered *f, const struct mt_filter *filter,
                                const struct mt_snapshot *s, struct mt_error *err) MT_NODISCARD;
void mt_filtered_release(struct mt_filtered *f);

/*
 * Whether what the filter names is in the file: its device, stream, private pool, annotation, a
 * stack that its expressions let through. A report about none of it would read like one about
 * memory that is fine. `any`: also whether a block or an event passes all of it together. Linear at
 * worst. Errors: MT_NOT_FOUND, saying what is not there and what is.
 */
enum mt_status mt_filtered_check(struct mt_filtered *f, bool any, struct mt_error *err)
    MT_NODISCARD;

bool mt_filtered_device(const struct mt_filtered *f, int32_t device);

/* Device, stream, pool. */
bool mt_filtered_segment(const struct mt_filtered *f, const struct mt_segment *s);

/* Its segment too; its size, its stack. `b` is a block of the snapshot. */
bool mt_filtered_block(struct mt_filtered *f, const struct mt_block *b);

/* Only the stack; false when a frame filter is set and the stack is 0. */
bool mt_filtered_stack(struct mt_filtered *f, uint32_t stack);

/*
 * Event `index` of the trace of `device`. Live/freed is the caller's business. The pool of an
 * event: heap/walk/event_pools.h. Events without a time match no --time.
 */
bool mt_filtered_event(struct mt_filtered *f, int32_t device, size_t index);

#endif
