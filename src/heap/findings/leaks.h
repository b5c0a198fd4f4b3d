/* SPDX-License-Identifier: MIT */
/* What grows step after step, what dies at once, and what waits to be freed. */
#ifndef MEMTOOL_HEAP_FINDINGS_LEAKS_H
#define MEMTOOL_HEAP_FINDINGS_LEAKS_H

#include "heap/findings/period.h"
#include "heap/stacks/filter.h"
#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"

/* A mean of more than this is a leak (10^6 bytes a step). */
#define MT_LEAK_THRESHOLD 1000000u

struct mt_leak_options {
    struct mt_period_options period;
    uint64_t threshold; /* bytes a step; growth above it is a leak */
    uint64_t capacity;  /* bytes of the device; 0: not known */
};

enum mt_leak_verdict { MT_LEAK_UNKNOWN, MT_LEAK_NO, MT_LEAK_YES };
/* "unknown", "no_leak", "leak". */
const char *mt_leak_verdict_id(enum mt_leak_verdict v);

/* Why a verdict is what it is; reports turn it into words. */
enum mt_leak_reason {
    MT_LEAK_NO_EVENTS,
    MT_LEAK_NO_PERIOD,
    MT_LEAK_ONE_PASS,  /* the model is called once */
    MT_LEAK_TOO_SHORT, /* fewer whole periods than MT_PERIODS_NEEDED */
    MT_LEAK_FILL,   /* every round takes a block and gives none back: taking what it needs looks so,
                       as the loading of weights does, and so does a leak */
    MT_LEAK_LAYERS, /* nothing tells that what repeats are steps: it may be the layers of one pass,
                       see mt_periods.may_be_layers */
    MT_LEAK_REGROWN, /* in a program that does not learn: as many tensors, each time larger; a cache
                        of what was generated looks so, and a list that grows */
    MT_LEAK_CACHE,   /* in a program that does not learn, by lines that are called a cache */
    MT_LEAK_OUTWEIGHED, /* something rises, but live memory as a whole falls, or hardly rises */
    MT_LEAK_HELD,       /* what rises is cuBLAS's workspaces, or lies in private pools, which CUDA
                           graphs and MemPools keep */
    MT_LEAK_FLAT,       /* nothing rises in every third of the run */
    MT_LEAK_FILLED, /* something rose and then stayed, and all memory with it: a cache, warm-up */
    MT_LEAK_BELOW_LINE, /* something rises, below the threshold */
    MT_LEAK_RISES,
    MT_LEAK_POOL, /* in a program that does not learn, one line keeps several tensors per step, or
                     now and then one of the same size: pages of a cache, and lists that are never
                     emptied */
    MT_LEAK_GIVEN_BACK, /* it rose in steps of a few events, which the trace outlives: a fill */
    MT_LEAK_REASON_COUNT
};

/* Memory that rises in every third of the run and is not given back. */
struct mt_growth {
    uint32_t stack; /* 0 with `rest`, or where none was recorded */
    bool rest;      /* not one stack: the sum of those that do not rise by themselves */
    int64_t bytes_per_step;
    uint64_t live_bytes;  /* alive at the end of the last whole period */
    uint64_t count;       /* the same, allocations */
    uint64_t first_bytes; /* alive at the end of the first counted period */
    uint64_t first_count; /* the same, allocations */
};

struct mt_leaks {
    int32_t device;
    enum mt_leak_verdict verdict;
    enum mt_leak_reason reason;
    struct mt_periods periods;
    size_t counted; /* whole periods without the first, which is warm-up */
    uint64_t threshold;
    int64_t bytes_per_step; /* the sum over `stacks` */
    int64_t reserved_bytes_per_step;
    double fit; /* R squared of a straight line through what rises; 0 without */
    MT_VEC(struct mt_growth) stacks; /* fastest first */
    uint64_t held_bytes;   /* HELD: so much more at the end of the last whole period than at that of
                              the first */
    uint64_t filled_bytes; /* FILLED: what the largest cache holds; GIVEN_BACK: what was filled */
    uint64_t given_back_bytes; /* GIVEN_BACK: how much of it */
    uint32_t filled_stack;
    bool has_peak;
    uint64_t last_peak; /* requested bytes at the highest point of the last whole period */
    bool has_steps_left;
    uint64_t steps_left; /* until last_peak + growth reaches the capacity */
    /* Lowest live and last reserved bytes of each counted period, or of each run of `stride`
     * periods where there are more than MT_LEAK_POINTS. */
    size_t stride;
    MT_VEC(uint64_t) live;
    MT_VEC(uint64_t) reserved;
};
#define MT_LEAK_POINTS 256

/*
 * Looks at one device. `f` may leave out allocations; NULL: none. The growth of a stack is that of
 * its floor: what is alive at the lowest point of a period and is never given back later. Errors:
 * MT_NOMEM, MT_LIMIT. Release it also after a failure.
 */
enum mt_status mt_leaks_find(struct mt_leaks *out, const struct mt_snapshot *s,
                             const struct mt_replay *r, struct mt_filtered *f,
                             const struct mt_leak_options *o, struct mt_error *err) MT_NODISCARD;
void mt_leaks_release(struct mt_leaks *l);

/* ---- short lives and pending frees ---- */

/* Of one stack. */
struct mt_temporary {
    uint32_t stack;
    uint64_t count; /* allocations that were freed within the given number of events */
    uint64_t bytes; /* their sum */
    uint64_t largest;
};

/* Memory between free_requested and free_completed, of one stack and stream. */
struct mt_pending {
    uint32_t stack;
    uint16_t stream;
    uint64_t count;
    uint64_t bytes;       /* their sum */
    uint64_t alive_bytes; /* still pending at the end of the trace */
    double byte_seconds;  /* bytes times waiting time; 0 where the file has no times */
    uint64_t longest_events;
};

struct mt_lifetimes {
    uint64_t within; /* events */
    uint64_t temporary_count, temporary_bytes;
    uint64_t allocs, alloc_bytes;          /* of the whole trace, to compare */
    MT_VEC(struct mt_temporary) temporary; /* most bytes first */
    uint64_t pending_count, pending_bytes; /* frees that did not complete with the next event */
    double pending_byte_seconds;
    MT_VEC(struct mt_pending) pending; /* most byte seconds first, then bytes */
};

/* `within`: an allocation freed at most so many events after it is temporary. Errors: MT_NOMEM.
 * Release it also after a failure. */
enum mt_status mt_lifetimes_find(struct mt_lifetimes *out, const struct mt_replay *r,
                                 struct mt_filtered *f, uint64_t within, struct mt_error *err)
    MT_NODISCARD;
void mt_lifetimes_release(struct mt_lifetimes *l);

#endif
