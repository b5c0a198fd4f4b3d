/* SPDX-License-Identifier: MIT */
/*
 * The counters while the allocator works. PyTorch keeps current, peak, allocated and freed of nine
 * counters, for the small pools, for the large ones and for both: a request and its free change
 * more than eighty numbers there. Here only sums are kept that never fall, for each kind of pool:
 * what was handed out, freed, completed. A counter's current value is the difference of two sums,
 * `all` is both kinds together, and what a reset makes forgotten is subtracted when somebody asks
 * (alloc_stats.c). Peaks alone must be watched as it happens, where something rises.
 */
#ifndef MEMTOOL_ALLOCATOR_COUNTS_H
#define MEMTOOL_ALLOCATOR_COUNTS_H

#include <memtool/allocator.h>

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

struct counts {
    int64_t sum[2][SUM_COUNT]; /* [small] */
    int64_t peak[MT_SLOT_COUNT][MT_STAT_COUNT];
    struct {
        int64_t up, down;
    } forgotten[2][MT_STAT_COUNT]; /* [small]: what `allocated` and `freed` do not show */
};

/* Lifts every peak of this kind of pool and of `all` that the current value has passed. */
void mt_counts_lift_peaks(struct counts *c, bool small);
/* A counter of segments or reserved bytes rises, or falls, by n. */
void mt_counts_rise(struct counts *c, enum mt_alloc_stat_id id, bool small, uint64_t n);
void mt_counts_fall(struct counts *c, enum mt_alloc_stat_id id, bool small, uint64_t n);
/* A restored block that is freed, but not completed: to `allocation` it never was. */
void mt_counts_add_pending(struct counts *c, bool small, uint64_t size, uint64_t requested);
int64_t mt_counts_current(const struct counts *c, enum mt_alloc_stat_id id, bool small);

static inline enum mt_alloc_stat_slot slot_of(bool small)
{
    return small ? MT_SLOT_SMALL : MT_SLOT_LARGE;
}

/* Whether up - down passes the peak of `id`, here or with the other kind's. */
static inline bool passes(const struct counts *c, bool small, enum count_sum up,
                          enum count_sum down, enum mt_alloc_stat_id id)
{
    int64_t own = c->sum[small][up] - c->sum[small][down];
    int64_t all = own + c->sum[!small][up] - c->sum[!small][down];
    return own > c->peak[slot_of(small)][id] || all > c->peak[MT_SLOT_ALL][id];
}

/* Blocks in use by somebody are never more than those not yet completed, nor is their peak: so what
 * passes a peak of either passes the lower one, `allocation`. */
static inline void count_taken(struct counts *c, bool small, uint64_t size, uint64_t requested)
{
    int64_t *sum = c->sum[small];
    sum[TAKEN]++;
    sum[TAKEN_BYTES] += (int64_t)size;
    sum[TAKEN_REQUESTED] += (int64_t)requested;
    if (MT_UNLIKELY(passes(c, small, TAKEN, DONE, MT_STAT_ALLOCATION) ||
                    passes(c, small, TAKEN_BYTES, DONE_BYTES, MT_STAT_ALLOCATED_BYTES) ||
                    passes(c, small, TAKEN_REQUESTED, DONE_REQUESTED, MT_STAT_REQUESTED_BYTES))) {
        mt_counts_lift_peaks(c, small);
    }
}

static inline void count_freed(struct counts *c, bool small, uint64_t size)
{
    c->sum[small][FREED]++;
    c->sum[small][FREED_BYTES] += (int64_t)size;
}

static inline void count_done(struct counts *c, bool small, uint64_t size, uint64_t requested)
{
    int64_t *sum = c->sum[small];
    sum[DONE]++;
    sum[DONE_BYTES] += (int64_t)size;
    sum[DONE_REQUESTED] += (int64_t)requested;
}

/* One net amount each: up, down, or nothing. */
static inline void count_splits(struct counts *c, bool small, int64_t n, int64_t bytes)
{
    int64_t *sum = c->sum[small];
    sum[n > 0 ? SPLIT_UP : SPLIT_DOWN] += n > 0 ? n : -n;
    sum[bytes > 0 ? SPLIT_BYTES_UP : SPLIT_BYTES_DOWN] += bytes > 0 ? bytes : -bytes;
    if ((n > 0 && passes(c, small, SPLIT_UP, SPLIT_DOWN, MT_STAT_INACTIVE_SPLIT)) ||
        (bytes > 0 &&
         passes(c, small, SPLIT_BYTES_UP, SPLIT_BYTES_DOWN, MT_STAT_INACTIVE_SPLIT_BYTES))) {
        mt_counts_lift_peaks(c, small);
    }
}

#endif
