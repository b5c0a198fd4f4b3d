/* SPDX-License-Identifier: MIT */
/*
 * The recorder: a ring of events for every device, the stacks behind them, and the marks that the
 * program sets. Memory is bounded by the rings' length and by the number of different stacks. It
 * knows no allocator; whoever sees events tells them. The caller brings the lock, except where
 * said.
 */
#ifndef MEMTOOL_LIVE_CORE_RECORDER_H
#define MEMTOOL_LIVE_CORE_RECORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "live/core/event_clock.h"
#include "live/core/record_settings.h"
#include "live/stacks/c_stack.h"
#include "live/stacks/python_stack.h"
#include "live/stacks/stack_table.h"
#include "support/compiler.h"
#include "support/error.h"

enum mt_record_action {
    MT_RECORD_ALLOC,
    MT_RECORD_FREE_REQUESTED,
    MT_RECORD_FREE_COMPLETED,
    MT_RECORD_SEGMENT_ALLOC,
    MT_RECORD_SEGMENT_FREE,
    MT_RECORD_SEGMENT_MAP,
    MT_RECORD_SEGMENT_UNMAP,
    MT_RECORD_OOM,
    MT_RECORD_SNAPSHOT,
    MT_RECORD_ACTION_COUNT
};

/* One entry of a ring; two to a cache line. */
struct mt_record_event {
    uint64_t addr; /* OOM: bytes that the device had free */
    uint64_t size;
    int64_t time_us; /* since the Unix epoch */
    uint32_t stack;  /* 0: none */
    uint16_t stream; /* index into the recorder's streams */
    uint8_t action;  /* enum mt_record_action */
    uint8_t unused;
};
_Static_assert(sizeof(struct mt_record_event) == 32, "an event is 32 bytes");

/* The last events; once it is full the oldest stands at `next`. */
struct mt_record_ring {
    struct mt_record_event *v; /* at the start of a cache line */
    void *memory;              /* around it */
    uint64_t cap;
    uint64_t next; /* index of the event to come */
    bool full;
};

struct mt_record_mark { /* an annotation */
    int64_t time_us;
    int32_t device;
    bool end; /* "END", else "START" */
    char name[51];
};
_Static_assert(sizeof(struct mt_record_mark) == 64, "a mark is 64 bytes");

/* Behind the devices there is one more ring: pinned memory of the host. */
enum {
    MT_RECORD_DEVICES_MAX = 64,
    MT_RECORD_HOST = MT_RECORD_DEVICES_MAX,
    MT_RECORD_RINGS,
    MT_RECORD_MARKS_MAX = 65536
};

/* Ordered so that what every event reads lies together, from the end of `stacks` to the start of
 * `python`: between two events a program has put most of it out of the nearest caches. */
struct mt_recorder {
    struct mt_record_settings settings;
    MT_VEC(uint64_t) streams;     /* handles by index; 0 is the default stream */
    struct mt_record_mark *marks; /* a ring too */
    uint64_t n_marks;
    struct mt_stack_table stacks;
    struct mt_event_clock clock; /* its now_us is the time of events that come now */
    uint64_t last_stream;        /* the one asked for last, and its index */
    uint16_t last_stream_index;
    _Atomic uint32_t how;    /* what captures do, read without the lock; 0: recording is off */
    struct mt_python python; /* found once, then constant */
    struct mt_record_ring rings[MT_RECORD_RINGS];
};

/* Not yet recording. Errors: MT_NOMEM. Caller frees with mt_recorder_free. */
enum mt_status mt_recorder_new(struct mt_recorder **out, struct mt_error *err) MT_NODISCARD;
void mt_recorder_free(struct mt_recorder *r); /* accepts NULL */

/* Whether the process can have a ring of that length: where it cannot, events would be lost without
 * a word. Errors: MT_NOMEM. */
enum mt_status mt_recorder_check(const struct mt_record_settings *s, struct mt_error *err)
    MT_NODISCARD;

/* Before mt_recorder_set, WITHOUT the lock: loads what these settings need, for which the dynamic
 * linker takes its own. */
void mt_recorder_prepare(const struct mt_recorder *r, const struct mt_record_settings *s);

/* Begins to record, or goes on under other settings; NULL stops. What was recorded stays, except
 * that rings of another length begin empty. */
void mt_recorder_set(struct mt_recorder *r, const struct mt_record_settings *s);

static inline bool mt_recorder_on(const struct mt_recorder *r)
{
    return atomic_load_explicit(&r->how, memory_order_relaxed) != 0;
}

/* Bits of mt_recorder.how; the number of frames stands above them. */
enum { MT_HOW_ON = 1, MT_HOW_PYTHON = 2, MT_HOW_C = 4, MT_HOW_FREES = 8, MT_HOW_FRAMES_SHIFT = 8 };

/* Catches a stack, appended to an empty one, as `how` says. */
void mt_recorder_capture_how(const struct mt_recorder *r, uint32_t how, struct mt_raw_stack *out);

/* Catches the calling thread's stack; an empty one when recording is off, or at a free that is not
 * to have a stack of its own. Takes no lock and needs none. */
static inline void mt_recorder_capture(const struct mt_recorder *r, bool is_free,
                                       struct mt_raw_stack *out)
{
    uint32_t how = atomic_load_explicit(&r->how, memory_order_relaxed);
    mt_raw_stack_reset(out);
    if (how != 0 && (!is_free || (how & MT_HOW_FREES))) {
        mt_recorder_capture_how(r, how, out);
    }
}

/* The id of a captured stack, or 0 when it is new and must go through mt_recorder_add_stack. */
static inline uint32_t mt_recorder_find_stack(const struct mt_recorder *r,
                                              const struct mt_raw_stack *raw)
{
    return raw->n ? mt_stack_table_find(&r->stacks, raw) : 0;
}

/* What a new stack reads like; big, so it comes from the heap. Holds the GIL while it is there. */
struct mt_stack_text {
    const struct mt_python *python; /* whose GIL this thread holds; NULL: it took none */
    int gil;
    size_t n;
    struct mt_frame_text frames[MT_RAW_FRAMES_MAX];
    struct mt_arena arena; /* texts of C frames */
    struct mt_c_frame_scratch scratch;
};

/* Puts a stack into words, in the thread that caught it, WITHOUT the lock: Python may run. What the
 * capture got wrong is made right in `raw` (see mt_python_verify). Takes the GIL, so that no code
 * object ends before it is added; free with mt_stack_text_free, again without the lock, which lets
 * it go. NULL when out of memory. */
struct mt_stack_text *mt_recorder_describe(struct mt_recorder *r, struct mt_raw_stack *raw)
    MT_NODISCARD;
void mt_stack_text_free(struct mt_stack_text *t);

/* With the lock again, in the same thread: the new stack's id, 0 when out of memory. */
uint32_t mt_recorder_add_stack(struct mt_recorder *r, const struct mt_raw_stack *raw,
                               const struct mt_stack_text *text) MT_NODISCARD;

/* Reads the clock for the events that follow. */
static inline void mt_recorder_tick(struct mt_recorder *r)
{
    (void)mt_event_clock_now(&r->clock);
}

/* Makes the ring of `device` and the index of `stream` ready; false when out of memory. */
bool mt_recorder_ready(struct mt_recorder *r, int device, uint64_t stream) MT_NODISCARD;

static inline bool mt_recorder_is_ready(const struct mt_recorder *r, int device, uint64_t stream)
{
    return stream == r->last_stream && r->rings[device].v;
}

/* Appends an event of `device` (or MT_RECORD_HOST), overwriting the oldest when the ring is full.
 * An event that finds no memory for a ring or a stream is lost without a word: recording never
 * fails a program. */
void mt_recorder_event(struct mt_recorder *r, int device, enum mt_record_action action,
                       uint64_t addr, uint64_t size, uint64_t stream, uint32_t stack);

/* The same where the ring and the stream are ready. */
static inline void mt_recorder_append(struct mt_recorder *r, int device,
                                      enum mt_record_action action, uint64_t addr, uint64_t size,
                                      uint32_t stack)
{
    struct mt_record_ring *ring = &r->rings[device];
    ring->v[ring->next] = (struct mt_record_event){
        .addr = addr,
        .size = size,
        .time_us = r->clock.now_us,
        .stack = stack,
        .stream = r->last_stream_index,
        .action = (uint8_t)action,
    };
    /* two cache lines ahead: the next event comes microseconds later, and would wait for the line
     */
    __builtin_prefetch(&ring->v[ring->next + 4], 1);
    if (MT_UNLIKELY(++ring->next == ring->cap)) {
        ring->next = 0;
        ring->full = true;
    }
}

/* Begins or ends a range of the program by name (cut at 50 bytes). */
void mt_recorder_mark(struct mt_recorder *r, int device, const char *name, bool end);

#endif
