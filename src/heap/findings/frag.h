/* SPDX-License-Identifier: MIT */
/* Why free memory cannot be used: what it is lost to, who pins it, and where that comes from. */
#ifndef MEMTOOL_HEAP_FINDINGS_FRAG_H
#define MEMTOOL_HEAP_FINDINGS_FRAG_H

#include "heap/stacks/filter.h"
#include "heap/sums/account.h"
#include "heap/walk/moment.h"
#include "heap/walk/replay.h"
#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"

/* By the share of reserved memory that is not allocated. */
enum mt_frag_class {
    MT_FRAG_NORMAL,     /* under 20 % */
    MT_FRAG_WORK_ON_IT, /* to 40 % */
    MT_FRAG_ACT         /* above */
};

/* The class of a whole, the same in every verb. */
enum mt_frag_class mt_frag_class_of(uint64_t reserved, uint64_t allocated);

/* Free memory of one pool on one stream: the allocator serves a request from one of these only. */
struct mt_frag_pool {
    uint16_t stream;
    struct mt_pool_id pool;
    enum mt_pool_kind kind;
    uint64_t reserved, free, largest_hole;
    uint64_t segments;
};

/* A stack whose live blocks keep segments from being given back or reused whole. */
struct mt_frag_pin {
    uint32_t stack;
    uint64_t free_held;  /* free bytes of the segments it lies in that emptying the cache does not
                            give back, shared evenly among the stacks in each */
    uint64_t alone;      /* of free_held: of segments that hold nothing else */
    uint64_t live_bytes; /* its own in those segments */
    uint64_t segments;
};

struct mt_frag {
    int32_t device;
    enum mt_moment_kind at;
    size_t n_events, events_done;
    uint64_t reserved, allocated, inactive_split;
    double fragmentation; /* 1 - allocated / reserved; 0 when nothing is reserved */
    enum mt_frag_class class;
    uint64_t largest_hole;
    /* What reserved - allocated is made of (rounding lies inside allocated). */
    uint64_t holes;              /* free beside live blocks, on the stream with most memory */
    uint64_t free_pages;         /* of holes: whole pages of expandable segments, which go back */
    uint64_t idle_segments;      /* wholly free segments of it */
    uint64_t other_stream;       /* free on other streams */
    uint64_t private_pool;       /* free in private pools */
    uint64_t pending;            /* freed, waiting for events */
    uint64_t rounding;           /* allocated beyond what was asked for */
    uint16_t main_stream;        /* the stream with most reserved memory */
    uint64_t failed_request;     /* at an out-of-memory event: the block that was wanted, else 0 */
    uint64_t failed_need;        /* the segment for it, under the recorded settings */
    uint64_t failed_free;        /* what the driver had free then */
    uint64_t empty_cache;        /* what emptying the cache would give back to the driver */
    enum mt_stackless stackless; /* of what age the memory without frames is */
    MT_VEC(struct mt_frag_pool) pools; /* most free bytes first */
    MT_VEC(struct mt_frag_pin) pins;   /* most free_held first */
};

/*
 * The state of the allocator at a moment. `f`: only segments that pass count; NULL: all. Errors:
 * MT_NOT_FOUND (no such moment), MT_NOMEM. Release it also after a failure.
 */
enum mt_status mt_frag_find(struct mt_frag *out, const struct mt_snapshot *s,
                            const struct mt_replay *r, struct mt_filtered *f,
                            const struct mt_moment *at, struct mt_error *err) MT_NODISCARD;
void mt_frag_release(struct mt_frag *f);

/* ---- sources ---- */

/* name, id in JSON, the fix ("": depends on who wrote the file) */
#define MT_FRAG_SOURCE_MAP(X)                                                                      \
    X(MANY_SIZES, "many_sizes",                                                                    \
      "preallocate one buffer of the largest size and use views of it, or pad to a few sizes")     \
    X(REGAINED, "segments_regained", "")                                                           \
    X(OVER_STEP, "just_over_a_step",                                                               \
      "ask for a little less, or round the shape down to the step: what lies above it is lost")    \
    X(SPLITS, "splits",                                                                            \
      "allocate the long-lived ones first, or preallocate: small pieces of large blocks stay")     \
    X(MIXED_FREES, "mixed_frees",                                                                  \
      "checkpoint or keep fixed shapes there: pieces of many sizes become free at once")

enum mt_frag_source_kind {
#define X(name, id, fix) MT_FRAG_SOURCE_##name,
    MT_FRAG_SOURCE_MAP(X)
#undef X
        MT_FRAG_SOURCE_COUNT
};
const char *mt_frag_source_id(enum mt_frag_source_kind kind);
/* What the program that was recorded can do about it. */
const char *mt_frag_source_fix(enum mt_frag_source_kind kind, const struct mt_recorded *r);

struct mt_frag_source {
    enum mt_frag_source_kind kind;
    uint32_t
        stack; /* 0: not of one stack. REGAINED: the one that gave most back, 0: not recorded */
    /* MANY_SIZES: allocations. REGAINED: segments. OVER_STEP: allocations. SPLITS: splits.
     * MIXED_FREES: bursts of frees. */
    uint64_t count;
    /* MANY_SIZES: of the largest size. REGAINED: of those segments. OVER_STEP: lost by rounding, in
     * sum. SPLITS: cut off. MIXED_FREES: freed in bursts. */
    uint64_t bytes;
    uint64_t sizes;   /* MANY_SIZES, MIXED_FREES: different sizes */
    uint64_t cost_us; /* REGAINED: time the driver calls took, about */
};

struct mt_frag_sources {
    MT_VEC(struct mt_frag_source) list; /* by kind, in each most first; only what matters */
};

/* From the trace. Errors: MT_NOMEM. Release it also after a failure. */
enum mt_status mt_frag_sources_find(struct mt_frag_sources *out, const struct mt_snapshot *s,
                                    const struct mt_replay *r, struct mt_filtered *f,
                                    struct mt_error *err) MT_NODISCARD;
void mt_frag_sources_release(struct mt_frag_sources *x);

#endif
