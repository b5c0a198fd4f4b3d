/* SPDX-License-Identifier: MIT */
/*
 * The one loop over the events of a device. A first pass (mt_replay_init) pairs every allocation
 * with its end through a map of what is alive; after that a cursor walks the events as often as one
 * likes, without a map, and gives at each step who was freed and how much is alive and reserved.
 *
 *   struct mt_replay r;
 *   MT_TRY(mt_replay_init(&r, s, device, err));
 *   struct mt_step at;
 *   mt_replay_begin(&r, &at);           // the state before the first event
 *   while (mt_replay_next(&r, &at)) {   // at.event, at.kind, at.live_bytes ...
 *   }
 *   mt_replay_release(&r);
 *
 * Memory counts as alive from its `alloc` until its `free_completed` (a pending block cannot be
 * reused), in requested bytes: its maximum is PyTorch's requested_bytes.all.peak. A trace that
 * starts in the middle is normal (the recording is a ring): memory that is freed or alive at the
 * end without an `alloc` is a ghost, and counts from the beginning. Nothing here is an error of the
 * input.
 */
#ifndef MEMTOOL_HEAP_WALK_REPLAY_H
#define MEMTOOL_HEAP_WALK_REPLAY_H

#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"
#include "heap/stacks/frames.h"

/* "No event", "no block": not freed in the trace, not in the final segments, a ghost. */
#define MT_NEVER UINT32_MAX

/* Memory that was alive before the first event. */
struct mt_ghost {
    uint64_t addr;
    uint64_t size;      /* requested bytes */
    uint32_t requested; /* event index of its free_requested, or MT_NEVER */
    uint32_t freed;     /* event index of its free_completed, or MT_NEVER: alive at the end */
    uint32_t block;     /* index into mt_snapshot.blocks when alive at the end, else MT_NEVER */
    uint32_t stack;     /* of the block where there is one, else 0: a free does not tell it */
};

/* An allocation whose end was not recorded: its address was handed out again. */
struct mt_overwrite {
    uint32_t event; /* index of the new alloc */
    uint32_t alloc; /* index of the old one */
};

struct mt_replay {
    const struct mt_snapshot *snapshot; /* borrowed */
    int32_t device;                     /* -1: pinned host memory */
    const struct mt_event *events;      /* the device's trace */
    size_t n;
    /* Per event, indexes into this trace. alloc: the event that ended it (a free_completed, or the
     * alloc that took its address), MT_NEVER when alive at the end. free_*: the alloc it frees, or
     * MT_NEVER for a ghost. Other events: MT_NEVER. */
    uint32_t *partner;
    MT_VEC(struct mt_ghost) ghosts; /* freed ones first, in the order of their end */
    MT_VEC(struct mt_overwrite) overwrites;
    uint64_t ghost_bytes;    /* sum of the ghosts: requested bytes alive before the first event */
    uint64_t start_reserved; /* bytes of segments before the first event */
    uint64_t end_reserved;   /* at the end: the device's segments in the snapshot */
    uint64_t end_bytes;      /* requested bytes alive after the last event */
    uint64_t peak_bytes;     /* the most that were alive at a time */
    size_t peak_done;        /* events done when that was first so; 0: before the first */
};

/*
 * Pairs the events of `device` (-1: the first host trace). A device without trace gives n = 0 and
 * all its active blocks as ghosts. Linear; 4 bytes an event, and 16 a slot of the live map while it
 * runs. Errors: MT_NOMEM, MT_LIMIT (2^32 - 1 events or more in one trace). On failure there is
 * nothing to release.
 */
enum mt_status mt_replay_init(struct mt_replay *r, const struct mt_snapshot *s, int32_t device,
                              struct mt_error *err) MT_NODISCARD;
void mt_replay_release(struct mt_replay *r);

enum mt_step_kind {
    MT_STEP_OTHER,          /* changes nothing: snapshot, oom, annotate, user_defined, unknown */
    MT_STEP_ALLOC,          /* memory handed out */
    MT_STEP_FREE_REQUESTED, /* the program dropped it; still alive until the free */
    MT_STEP_FREE,           /* free_completed: back in the cache */
    MT_STEP_RESERVE,        /* segment_alloc, segment_map */
    MT_STEP_RELEASE         /* segment_free, segment_unmap */
};

/* Where the walk stands. Everything is "after the event". */
struct mt_step {
    size_t index; /* of the event in the trace; before the first: SIZE_MAX */
    const struct mt_event *event;
    enum mt_step_kind kind;
    /* FREE, FREE_REQUESTED: the alloc event, or MT_NEVER for a ghost. ALLOC: the allocation whose
     * end was not recorded and that this one replaces, or MT_NEVER. */
    uint32_t alloc;
    uint32_t ghost;          /* FREE of a ghost: index into ghosts, else MT_NEVER */
    uint64_t live_bytes;     /* requested bytes alive, ghosts and pending blocks included */
    uint64_t live_count;     /* the same, allocations */
    uint64_t reserved_bytes; /* of segments */
    size_t next_ghost, next_overwrite; /* private: how far the lists are used */
};

void mt_replay_begin(const struct mt_replay *r, struct mt_step *at);
/* False after the last event; *at then still holds the last state. */
bool mt_replay_next(const struct mt_replay *r, struct mt_step *at);

/* What an event does to memory, from its action alone. */
enum mt_step_kind mt_event_kind(const struct mt_event *e);

/* From the first event to the last; -1: the events have no times. */
int64_t mt_replay_span_us(const struct mt_replay *r);

/* Of what age the memory without frames is: OLDER or RECORDED when all of it is, else ANY.
 * O(events).
 */
enum mt_stackless mt_replay_stackless(const struct mt_replay *r);

/* Whether it is MT_STEP_ALLOC, for loops that ask nothing else. */
static inline bool mt_event_allocates(const struct mt_event *e)
{
    return e->action == MT_ACTION_ALLOC;
}

/* The events of a device: its trace, or {0, 0} when it has none. -1: the first host trace. */
struct mt_trace mt_device_trace(const struct mt_snapshot *s, int32_t device);

#endif
