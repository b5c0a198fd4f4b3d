/* SPDX-License-Identifier: MIT */
/*
 * Sums over a snapshot: what `stats` prints. The byte counters reproduce PyTorch's own
 * memory_stats() (c10/cuda/CUDACachingAllocator.cpp, read in 2.6 and 2.11): allocated counts block
 * sizes in state active_allocated, active every state but inactive, requested the requested bytes
 * of active blocks, reserved the segments, inactive_split the free blocks of segments that are cut
 * up (not in expandable segments).
 */
#ifndef MEMTOOL_HEAP_SUMS_TOTALS_H
#define MEMTOOL_HEAP_SUMS_TOTALS_H

#include "heap/stacks/filter.h"
#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"

/* All in bytes but for the last five. */
struct mt_counters {
    uint64_t allocated;
    uint64_t active;
    uint64_t requested;
    uint64_t reserved;
    uint64_t inactive_split;
    uint64_t inactive;   /* all free blocks */
    uint64_t releasable; /* of them, what emptying the cache gives back to the driver */
    uint64_t largest_free;
    uint64_t segments;
    uint64_t blocks;
    uint64_t allocated_blocks;
    uint64_t active_blocks;
    uint64_t inactive_split_blocks;
};

/* reserved - active; negative only where a file's figures do not add up. */
int64_t mt_counters_free(const struct mt_counters *c);
/* 1 - allocated / reserved; 0 when nothing is reserved. */
double mt_counters_fragmentation(const struct mt_counters *c);
/* The share of reserved memory that is cut up: neither allocated nor releasable. */
double mt_counters_cut_up(const struct mt_counters *c);

struct mt_pool_totals {
    struct mt_pool_id id;
    struct mt_counters counters;
};

struct mt_stream_totals {
    uint16_t stream; /* index into mt_snapshot.streams */
    struct mt_counters counters;
};

struct mt_segment_size_totals {
    uint64_t size;
    uint64_t segments;
    uint64_t allocated; /* bytes of active_allocated blocks in them */
    uint64_t allocated_blocks;
};

/* Requests of [2^i, 2^(i+1)) bytes; the first also those of 0. */
struct mt_size_class {
    uint64_t allocs;      /* of the trace */
    uint64_t live_blocks; /* active blocks, by requested size */
    uint64_t live_bytes;  /* their requested bytes */
};
#define MT_SIZE_CLASSES 64

/* What the events add up to. */
struct mt_trace_totals {
    uint64_t events; /* that passed the filter */
    uint64_t actions[MT_ACTION_COUNT];
    uint64_t other_shapes[256]; /* events of unknown action, by event shape */
    uint64_t with_stack, with_time;
    int64_t first_us, last_us; /* MT_NO_TIME when no event has a time */
    uint64_t hits, misses;     /* allocs served from the cache, or after a call to the driver */
    /* Nothing was alive or reserved before the first event: what the trace says of the allocator's
     * life is all there is. Always of the whole trace, whatever the filter. */
    bool complete;
    bool whole;              /* no filter: the figures are those of the whole trace */
    uint64_t ghosts;         /* allocations alive before the first event */
    uint64_t ghost_bytes;    /* their requested bytes */
    uint64_t start_reserved; /* bytes of segments before the first event */
    bool retries_known;      /* the trace alone proves num_alloc_retries */
    uint64_t retries;
    bool splits_known; /* no filter, and a replay of the blocks ended in the layout of the file */
    uint64_t splits, merges;
};

struct mt_device_totals {
    int32_t device; /* -1: pinned host memory */
    struct mt_counters all;
    struct mt_counters pool[MT_POOL_KIND_COUNT]; /* private pools are counted in them too */
    MT_VEC(struct mt_pool_totals) private_pools; /* by id */
    MT_VEC(struct mt_stream_totals) streams;     /* in order of first appearance in the file */
    MT_VEC(struct mt_segment_size_totals) segment_sizes; /* ascending */
    struct mt_size_class sizes[MT_SIZE_CLASSES];
    struct mt_trace_totals trace;
};

struct mt_totals {
    MT_VEC(struct mt_device_totals) devices; /* ascending; those that the filter lets through */
    uint64_t segments_left_out, blocks_left_out, events_left_out; /* by the filter */
};

enum {
    MT_TOTALS_SPLITS = 1, /* count splits and merges too: one more pass over complete traces */
    MT_TOTALS_HOST = 2    /* pinned host memory too, as device -1 */
};

/* Sums over what passes `f`. One scan of the events, without a live map. Errors: MT_NOMEM. Release
 * it also after a failure. */
enum mt_status mt_totals_find(struct mt_totals *t, const struct mt_snapshot *s,
                              struct mt_filtered *f, unsigned flags, struct mt_error *err)
    MT_NODISCARD;
void mt_totals_release(struct mt_totals *t);

/* The totals of one device, or NULL. */
const struct mt_device_totals *mt_totals_device(const struct mt_totals *t, int32_t device);

/*
 * Replays the blocks of a complete trace and counts how often a block was split to serve a request
 * and how often freed memory was merged with a free neighbour. *known is false when the replay does
 * not end with as many blocks as the file has (settings changed on the way, hand-made file), or the
 * trace is not complete. O(events). Errors: MT_NOMEM.
 */
enum mt_status mt_count_splits(const struct mt_snapshot *s, int32_t device, bool *known,
                               uint64_t *splits, uint64_t *merges, struct mt_error *err)
    MT_NODISCARD;

#endif
