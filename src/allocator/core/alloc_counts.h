/* SPDX-License-Identifier: MIT */
/*
 * The counters while the allocator works. PyTorch keeps current, peak, allocated and freed of nine
 * counters, for the small pools, for the large ones and for both: a request and its free change
 * more than eighty numbers there. Here only sums are kept that never fall, for each kind of pool:
 * what was handed out, freed, completed. A counter's current value is the difference of two sums,
 * `all` is both kinds together, and what a reset makes forgotten is subtracted when somebody asks
 * (alloc_stats.c). Peaks alone must be watched as it happens, where something rises.
 */
#ifndef MEMTOOL_ALLOCATOR_CORE_ALLOC_COUNTS_H
#define MEMTOOL_ALLOCATOR_CORE_ALLOC_COUNTS_H

#include "allocator/core/allocator.h"

/* The first eight, which every request and free change, are one cache line. */
enum count_sum {
    TAKEN, /* blocks handed out */
    TAKEN_BYTES,
    TAKEN_REQUESTED,
    FREED, /* by their users */
    FREED_BYTES,
    DONE, /* whose free has completed */
    DONE_BYTES,
    DONE_REQUESTED,
    SPLIT_UP, /* free blocks beside others in a cudaMalloc segment, by net amounts */
    SPLIT_DOWN,
    SPLIT_BYTES_UP,
    SPLIT_BYTES_DOWN,
    SEGMENT_UP,
    SEGMENT_DOWN,
    RESERVED_UP,
    RESERVED_DOWN,
    SUM_COUNT
};

/* Of the small or of the large pools. */
struct tally {
    int64_t sum[SUM_COUNT];
    int64_t peak[MT_STAT_COUNT];
    struct {
        int64_t up, down;
    } forgotten[MT_STAT_COUNT]; /* what `allocated` and `freed` do not show */
};

struct counts {
    struct tally tally[2];           /* [small] */
    int64_t peak_all[MT_STAT_COUNT]; /* of both together */
};

/* Lifts every peak of this kind of pool and of `all` that the current value has passed. */
void mt_counts_lift_peaks(struct counts *c, struct tally *t);
/* A counter of segments or reserved bytes rises, or falls, by n. */
void mt_counts_rise(struct counts *c, struct tally *t, enum mt_alloc_stat_id id, uint64_t n);
void mt_counts_fall(struct tally *t, enum mt_alloc_stat_id id, uint64_t n);
/* A restored block that is freed, but not completed: to `allocation` it never was. */
void mt_counts_add_pending(struct counts *c, struct tally *t, uint64_t size, uint64_t requested);

static inline const struct tally *other_than(const struct counts *c, const struct tally *t)
{
    return t == &c->tally[0] ? &c->tally[1] : &c->tally[0];
}

/* Whether up - down passes the peak of `id`, in this kind of pool or together with the other. */
static inline bool passes(const struct counts *c, const struct tally *t, enum count_sum up,
                          enum count_sum down, enum mt_alloc_stat_id id)
{
    const struct tally *other = other_than(c, t);
    int64_t own = t->sum[up] - t->sum[down];
    return own > t->peak[id] || own + other->sum[up] - other->sum[down] > c->peak_all[id];
}

/* Blocks in use by somebody are never more than those not yet completed, nor is their peak: so what
 * passes a peak of either passes the lower one, `allocation`. */
MT_INLINE void count_taken(struct counts *c, struct tally *t, uint64_t size, uint64_t requested)
{
    int64_t *sum = t->sum;
    sum[TAKEN]++;
    sum[TAKEN_BYTES] += (int64_t)size;
    sum[TAKEN_REQUESTED] += (int64_t)requested;
    if (MT_UNLIKELY(passes(c, t, TAKEN, DONE, MT_STAT_ALLOCATION) ||
                    passes(c, t, TAKEN_BYTES, DONE_BYTES, MT_STAT_ALLOCATED_BYTES) ||
                    passes(c, t, TAKEN_REQUESTED, DONE_REQUESTED, MT_STAT_REQUESTED_BYTES))) {
        mt_counts_lift_peaks(c, t);
    }
}

MT_INLINE void count_freed(struct tally *t, uint64_t size)
{
    int64_t *sum = t->sum;
    sum[FREED]++;
    sum[FREED_BYTES] += (int64_t)size;
}

MT_INLINE void count_done(struct tally *t, uint64_t size, uint64_t requested)
{
    int64_t *sum = t->sum;
    sum[DONE]++;
    sum[DONE_BYTES] += (int64_t)size;
    sum[DONE_REQUESTED] += (int64_t)requested;
}

MT_INLINE void count_split_up(struct counts *c, struct tally *t, uint64_t n, uint64_t bytes)
{
    t->sum[SPLIT_UP] += (int64_t)n;
    t->sum[SPLIT_BYTES_UP] += (int64_t)bytes;
    if (MT_UNLIKELY(passes(c, t, SPLIT_UP, SPLIT_DOWN, MT_STAT_INACTIVE_SPLIT) ||
                    passes(c, t, SPLIT_BYTES_UP, SPLIT_BYTES_DOWN, MT_STAT_INACTIVE_SPLIT_BYTES))) {
        mt_counts_lift_peaks(c, t);
    }
}

MT_INLINE void count_split_down(struct tally *t, uint64_t n, uint64_t bytes)
{
    t->sum[SPLIT_DOWN] += (int64_t)n;
    t->sum[SPLIT_BYTES_DOWN] += (int64_t)bytes;
}

#endif
