/* SPDX-License-Identifier: MIT */
/*
 * The model: what a snapshot says, whatever file it came from. Immutable once read or built.
 *
 *   segment  one reservation of device memory (a cudaMalloc, or one mapped run of an expandable
 * segment) block    a piece of a segment: allocated, pending, or free; blocks tile their segment
 *   event    one entry of a device's trace (the recorded history)
 *   frame    one line of a call stack; a stack is a list of frames, innermost first
 *   pool     small or large (by request size); a private pool is named by a pair of numbers
 *   stream   a CUDA stream; a block may only be reused by the stream that it was allocated on
 *
 * All ids are 32-bit and 0 means "none". Byte counts are exact. Names and numbers that a file does
 * not hold are absent (see the `present` sets), never zero. Everything lives as long as the
 * snapshot.
 *
 * A record has one owner: the ranges of all traces and host_traces are disjoint parts of events,
 * those of all segments and host_segments of blocks, and those of all blocks of history
 * (mt_snapshot_check). Where a pickle names one list in several places each place has a copy, as in
 * the JSON of the same snapshot. Records without an owner may lie between. Values (MT_VALUE_EVENTS
 * ...), and other_segments, which only values name, own nothing: they may name any record, and only
 * writers follow them.
 */
#ifndef MEMTOOL_SNAPSHOT_MODEL_MODEL_H
#define MEMTOOL_SNAPSHOT_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/str.h"

/* ---- events ---- */

/* name, the word in the file */
#define MT_ACTION_MAP(X)                                                                           \
    X(OTHER, "")                                                                                   \
    X(ALLOC, "alloc")                                                                              \
    X(FREE_REQUESTED, "free_requested")                                                            \
    X(FREE_COMPLETED, "free_completed")                                                            \
    X(FREE, "free")                                                                                \
    X(SEGMENT_ALLOC, "segment_alloc")                                                              \
    X(SEGMENT_FREE, "segment_free")                                                                \
    X(SEGMENT_MAP, "segment_map")                                                                  \
    X(SEGMENT_UNMAP, "segment_unmap")                                                              \
    X(SNAPSHOT, "snapshot")                                                                        \
    X(OOM, "oom")                                                                                  \
    X(USER_DEFINED, "user_defined")                                                                \
    X(ANNOTATE, "annotate")

enum mt_action {
#define X(name, word) MT_ACTION_##name,
    MT_ACTION_MAP(X)
#undef X
        MT_ACTION_COUNT
};

/* addr of an OOM event whose file does not say what the driver had free. */
#define MT_FREE_UNKNOWN UINT64_MAX

/* time_us of an event or annotation whose file gives no time. */
#define MT_NO_TIME INT64_MIN

/* One trace entry; two to a cache line. */
struct mt_event {
    uint64_t addr;   /* block or segment start; for OOM the bytes that the driver had free */
    uint64_t size;   /* alloc, free_*: requested bytes, unrounded; segment_*: segment bytes;
                        oom: rounded request; snapshot: active bytes */
    int64_t time_us; /* since the Unix epoch, or MT_NO_TIME */
    uint32_t stack;  /* stack id, 0 = none recorded */
    uint16_t stream; /* index into mt_snapshot.streams */
    uint8_t action;  /* enum mt_action */
    uint8_t shape;   /* index into mt_snapshot.event_shapes */
};
_Static_assert(sizeof(struct mt_event) == 32, "an event is 32 bytes");

/* Columns beside the events that most files do not need: NULL until a value differs from absent
 * (or from the default "N/A" and ""). COMPILE_CONTEXT .. CATEGORY hold string ids, POOL an index
 * into mt_snapshot.pools, EXTRA the head of a list of unknown keys. */
enum mt_event_column {
    MT_COLUMN_COMPILE_CONTEXT,
    MT_COLUMN_USER_METADATA,
    MT_COLUMN_INTERNAL_METADATA,
    MT_COLUMN_CATEGORY,
    MT_COLUMN_POOL,
    MT_COLUMN_EXTRA,
    MT_COLUMN_COUNT
};

/* Which keys an event had in its file (bits 1 << enum mt_event_key), shared by all alike. */
struct mt_event_shape {
    uint32_t present;
    uint32_t action_name; /* string id of an action that memtool does not know, else 0 */
};

/* The events [first, first + n) of one device, in the order of time. */
struct mt_trace {
    size_t first;
    size_t n;
};

/* ---- segments and blocks ---- */

struct mt_pool_id {
    int64_t a, b; /* {0, 0}: default; {n, 0}: CUDA graph capture; {0, n}: torch.cuda.MemPool */
};

enum mt_pool_kind { MT_POOL_SMALL, MT_POOL_LARGE, MT_POOL_KIND_COUNT };

enum mt_block_state {
    MT_BLOCK_INACTIVE,  /* free, cached */
    MT_BLOCK_ALLOCATED, /* active_allocated */
    MT_BLOCK_PENDING,   /* active_pending_free: freed, waiting for events of other streams */
    MT_BLOCK_OTHER      /* a state that memtool does not know: counted as active, not allocated */
};

struct mt_block {
    uint64_t addr;
    uint64_t size;      /* as reserved: rounded, with the rest that was not worth a split */
    uint64_t requested; /* as asked for; stale in free blocks, there only for convert */
    uint32_t stack;
    uint32_t segment; /* index of its segment: in segments, or in host_segments for pinned memory */
    uint32_t history_first; /* entries in mt_snapshot.history (PyTorch <= 2.0) */
    uint32_t history_n;
    uint32_t extra;
    uint32_t state_name; /* string id where the word is not the usual one of `state`, else 0 */
    uint8_t state;       /* enum mt_block_state */
    uint8_t unused;
    uint16_t present; /* bits 1 << enum mt_block_key */
};

struct mt_segment {
    uint64_t addr;
    uint64_t total_size;     /* bytes, the sum of its blocks in every genuine file */
    uint64_t allocated_size; /* as the file says; reports count blocks instead */
    uint64_t active_size;
    uint64_t requested_size;
    struct mt_pool_id pool;
    int32_t device; /* -1 for pinned host memory */
    uint32_t stack;
    uint32_t first_block;
    uint32_t n_blocks;
    uint32_t extra;
    uint32_t type_name; /* string id where segment_type is neither "small" nor "large", else 0 */
    uint16_t stream;
    uint8_t kind; /* enum mt_pool_kind */
    bool expandable;
    uint32_t present; /* bits 1 << enum mt_segment_key */
};

struct mt_device_first {
    int32_t device;
    uint32_t first; /* index of its first segment */
};

/* What lived in a block since it was last whole; newest first (PyTorch 1.13 and 2.0 only). */
struct mt_history {
    uint64_t addr;
    uint64_t real_size; /* requested bytes */
    uint32_t stack;
    uint32_t extra;
    uint32_t present;
};

/* ---- stacks ---- */

struct mt_frame {
    uint32_t name; /* string ids */
    uint32_t filename;
    int32_t line;
    uint32_t extra;   /* unknown keys, such as fx_node_op */
    uint32_t present; /* bits 1 << enum mt_frame_key */
};

/* Frame ids stack_frames[first .. first + n), innermost first. */
struct mt_stack {
    uint32_t first;
    uint32_t n;
};

/* ---- the rest ---- */

struct mt_annotation {
    uint32_t name;  /* string ids */
    uint32_t stage; /* "START" or "END" */
    int32_t device;
    int64_t time_us;
    uint32_t extra;
    uint32_t present;
};

/* A generic value of the file: settings, unknown keys. Children of containers are contiguous. */
enum mt_value_kind {
    MT_VALUE_NONE,
    MT_VALUE_BOOL,     /* i */
    MT_VALUE_INT,      /* i */
    MT_VALUE_BIG,      /* an integer beyond int64: `id` is the string of its decimal digits */
    MT_VALUE_FLOAT,    /* f */
    MT_VALUE_STR,      /* id */
    MT_VALUE_BYTES,    /* id, raw bytes */
    MT_VALUE_LIST,     /* children [id, id + n) */
    MT_VALUE_TUPLE,    /* the same */
    MT_VALUE_DICT,     /* the same, n pairs: key, value, key, value ... */
    MT_VALUE_FRAME,    /* id: frame */
    MT_VALUE_STACK,    /* id: stack; an empty list is LIST with n = 0 */
    MT_VALUE_EVENTS,   /* events [id, id + n) in a list */
    MT_VALUE_SEGMENTS, /* and so on */
    MT_VALUE_BLOCKS,
    MT_VALUE_ANNOTATIONS,
    MT_VALUE_HISTORY
};

struct mt_value {
    uint8_t kind;
    bool single; /* EVENTS .. HISTORY: the one record itself, not a list of it */
    uint32_t n;
    union {
        int64_t i;
        double f;
        uint32_t id;
    } u;
};

/* A pair of a record that has no field for it: the key is unknown, or its value is None or odd. A
 * list linked by `next`, the last of the file first. Records with equal lists share them. */
struct mt_extra {
    uint32_t key; /* string id; 0 where the key is no string but values[key_value] */
    uint32_t key_value;
    uint32_t value; /* index into mt_snapshot.values */
    uint32_t next;  /* 0 = end */
};

/* The values of a known key that are nothing it can hold, such as a line of 2^64 - 1: they are only
 * shown, so they are kept among the extras, and for all else the key is absent. */
struct mt_odd {
    const char *record; /* "event", "frame" ... */
    uint32_t key;       /* string id */
    uint32_t value;     /* the first of them: index into mt_snapshot.values */
    uint64_t n;
};

struct mt_stream {
    uint64_t handle; /* the numeric value of the cudaStream_t; 0 is the default stream */
    bool negative;   /* written as a negative number by the file (C++ writer) */
};

enum mt_file_format { MT_FORMAT_BUILT, MT_FORMAT_PICKLE, MT_FORMAT_JSON, MT_FORMAT_TEXT };

/* What a file that is no snapshot tells; the rest of the model is made up (told_events.h). */
enum mt_told {
    MT_TOLD_ALL,      /* it is a snapshot */
    MT_TOLD_TRACE,    /* a trace of torch.profiler: requests, and what is allocated and reserved */
    MT_TOLD_TIMELINE, /* its raw memory timeline: sizes by category, no addresses */
    MT_TOLD_SUMS,     /* its memory timeline: sums of categories */
    MT_TOLD_RMM       /* RMM's log: requests */
};

/* What the file was, apart from its content. */
struct mt_source {
    enum mt_told told;
    enum mt_file_format format;
    int protocol;    /* pickle protocol, -1 when not a pickle */
    bool cpp_writer; /* the C++ writer's fingerprint (fixed 8-byte integers) */
    bool gzip, zip, html;
    bool bare_list; /* a list of segments at the top, no dict */
    bool salvaged;  /* read up to a damage only */
    bool state_cut; /* with salvaged: the list of segments lost its end, so all sums of them
                       are those of a part */
    bool trace_cut; /* with salvaged: traces from `first_cut` on have lost their end, so the
                       segments are later than the last event, or not all there */
    bool followed;  /* with trace_cut: the segments of those devices are now those after the
                       last event that is left (cut_trace.h) */
    size_t first_cut;
    uint64_t bytes;         /* unpacked bytes read */
    uint64_t damage_offset; /* with salvaged: where; else MT_NO_OFFSET */
    char damage[240];       /* with salvaged: what */
};

struct mt_snapshot {
    const struct mt_event *events;
    size_t n_events;
    const uint32_t *columns[MT_COLUMN_COUNT]; /* one entry an event, or NULL: all are the default */
    uint32_t column_defaults[MT_COLUMN_COUNT]; /* "N/A", "" and otherwise 0 */
    const struct mt_event_shape *event_shapes;
    size_t n_event_shapes;

    const struct mt_trace *traces; /* index = device ordinal */
    size_t n_traces;
    const struct mt_trace *host_traces;
    size_t n_host_traces;
    bool host_trace_is_flat; /* host_traces was one flat list */

    const struct mt_segment *segments; /* in file order; device segments only */
    size_t n_segments;
    /* With many devices the next segment of the same device, n_segments behind the last, and the
     * first of each, ascending by device; else NULL: see device_segments.h. */
    const uint32_t *segment_next;
    const struct mt_device_first *device_firsts;
    size_t n_device_firsts;
    const struct mt_segment *host_segments;
    size_t n_host_segments;
    const struct mt_segment *other_segments; /* what MT_VALUE_SEGMENTS of unknown keys index */
    size_t n_other_segments;
    const struct mt_block *blocks;
    size_t n_blocks;
    const struct mt_history *history;
    size_t n_history;

    const struct mt_frame *frames;
    size_t n_frames; /* ids 1 .. n_frames - 1 */
    const struct mt_stack *stacks;
    size_t n_stacks; /* ids 1 .. n_stacks - 1 */
    const uint32_t *stack_frames;
    size_t n_stack_frames;

    const struct mt_stream *streams; /* index 0 is always the default stream */
    size_t n_streams;
    const struct mt_pool_id *pools; /* index 0 is always {0, 0} */
    size_t n_pools;
    const struct mt_annotation *annotations;
    size_t n_annotations;

    const struct mt_str *strings; /* by string id; strings[0] is "" */
    size_t n_strings;
    const struct mt_value *values; /* values[0] is NONE */
    size_t n_values;
    const struct mt_extra *extras;
    size_t n_extras;
    uint64_t n_unknown; /* values under keys that memtool does not know, as often as they stand */
    const struct mt_odd *odd;
    size_t n_odd;
    uint32_t settings; /* value index of allocator_settings (a DICT), 0 when absent */
    uint32_t own;      /* value index of memtool's own key (a DICT), 0 when absent */
    uint32_t extra;    /* unknown keys at the top */
    uint32_t present;  /* bits 1 << enum mt_top_key */
    struct mt_source source;

    struct mt_builder *owner; /* holds the memory */
};

/* Whether segments and blocks are the file's own, and not made up for their sums; whether what is
 * reserved is known at all. */
static inline bool mt_source_has_pieces(const struct mt_source *source)
{
    return source->told == MT_TOLD_ALL;
}

static inline bool mt_source_has_reserved(const struct mt_source *source)
{
    return source->told == MT_TOLD_ALL || source->told == MT_TOLD_TRACE;
}

/* What a salvaged file lost, in a word for programs: "segments" (some of them), "trace" (its end),
 * "rest" (what stood behind both); NULL when it is whole. */
const char *mt_source_lost(const struct mt_source *source);

/* Frees everything that a reader or mt_builder_finish put into s. */
void mt_snapshot_release(struct mt_snapshot *s);

/* Memory that lives as long as s, not cleared; NULL when out of memory. */
void *mt_snapshot_alloc(struct mt_snapshot *s, size_t count, size_t size);

/* NULL when each record of s has one owner at most, as above; else what is wrong, or that memory
 * ran out, which reads the same. Time and memory grow with the records. */
const char *mt_snapshot_check(const struct mt_snapshot *s);

/* The events of all traces and host_traces: at most n_events. */
size_t mt_snapshot_n_traced(const struct mt_snapshot *s);

/* The value of a rare column of event `index`; whether its file had the key at all is in the shape.
 */
static inline uint32_t mt_event_column_get(const struct mt_snapshot *s, size_t index,
                                           enum mt_event_column column)
{
    return s->columns[column] ? s->columns[column][index] : s->column_defaults[column];
}

static inline struct mt_str mt_snapshot_str(const struct mt_snapshot *s, uint32_t id)
{
    return s->strings[id];
}

/*
 * What is asked about a frame's names: of a path the last MT_ASKED_BYTES, of a function the first.
 * Thousands of frames may share one name of megabytes, and each of them is asked; names of files
 * have 255 characters at most on Linux and Windows, and what says whose a function is stands at its
 * beginning. Labels show as much of them; JSON and files that are converted have all.
 */
enum { MT_ASKED_BYTES = MT_BASENAME_BYTES };

static inline struct mt_str mt_frame_path(const struct mt_snapshot *s, const struct mt_frame *f)
{
    return mt_str_tail(mt_snapshot_str(s, f->filename), MT_ASKED_BYTES);
}

static inline struct mt_str mt_frame_function(const struct mt_snapshot *s, const struct mt_frame *f)
{
    return mt_str_head(mt_snapshot_str(s, f->name), MT_ASKED_BYTES);
}

/* The value of a key in a DICT value, owned by s; NULL when it has no such key or is no DICT. The
 * keys are looked at one after the other. */
const struct mt_value *mt_value_find(const struct mt_snapshot *s, const struct mt_value *dict,
                                     const char *key);

/* The value that a list of extras (its head) holds under a key; NULL when it holds none. */
const struct mt_value *mt_extra_find(const struct mt_snapshot *s, uint32_t head, const char *key);

/* The line of a frame as its file has it, which may be no line: 18446744073709551615. */
void mt_frame_line_text(struct mt_buf *b, const struct mt_snapshot *s, const struct mt_frame *f);

/* A value in a few words: a number as it stands, a text in quotes, else what it is ("a list"). What
 * is no ASCII is left as it is. */
void mt_value_text(struct mt_buf *b, const struct mt_snapshot *s, const struct mt_value *v);

#endif
