/* SPDX-License-Identifier: MIT */
/* What the steps of a recording are made of, one by one, and what one pass of the model holds. */
#ifndef MEMTOOL_HEAP_FINDINGS_STEPS_H
#define MEMTOOL_HEAP_FINDINGS_STEPS_H

#include "heap/stacks/categories.h"
#include "support/error.h"
#include "heap/findings/driver_price.h"
#include "heap/findings/leaks.h"
#include "heap/findings/period.h"
#include "heap/walk/replay.h"
#include "support/vec.h"

/* name, the word */
#define MT_PHASE_MAP(X)                                                                            \
    X(OTHER, "other")                                                                              \
    X(FORWARD, "forward")                                                                          \
    X(BACKWARD, "backward")                                                                        \
    X(OPTIMIZER, "optimizer")                                                                      \
    X(EVALUATION, "evaluation")

enum mt_phase {
#define X(name, word) MT_PHASE_##name,
    MT_PHASE_MAP(X)
#undef X
        MT_PHASE_COUNT
};
const char *mt_phase_name(enum mt_phase p);

/* Of a step, or of one phase of it. Bytes are requested bytes. */
struct mt_step_part {
    uint64_t events;
    uint64_t requests;
    uint64_t requested_bytes; /* their sum */
    uint64_t misses;          /* requests before which the driver was called */
    uint64_t device_allocs;   /* segments and pages taken from the driver */
    uint64_t device_frees;    /* and given back */
    uint64_t peak_bytes;      /* the most that was alive, 0 without events */
    int64_t change_bytes;     /* of live memory */
};

/* What makes a step stand out from the others. */
enum mt_step_odd {
    MT_STEP_ODD_PEAK = 1,   /* its peak */
    MT_STEP_ODD_LENGTH = 2, /* how many requests it has, evaluation left out */
    MT_STEP_ODD_DRIVER = 4, /* the driver was called, where in most steps it was not */
    MT_STEP_ODD_TIME = 8    /* how long it took; not with evaluation, nor where times scatter */
};

struct mt_step_row {
    size_t from, to;        /* events [from, to) */
    int64_t from_us, to_us; /* of its first event and of the next step's (its last, without one);
                               MT_NO_TIME without times */
    uint64_t live_before, live_after;
    size_t peak_event; /* after which most is alive */
    enum mt_phase peak_phase;
    struct mt_step_part all;
    struct mt_step_part phases[MT_PHASE_COUNT];
    uint32_t passes; /* calls of the model that begin in it */
    bool warm_up;    /* the first ones, as long as the driver is called; at least the first of
                        several */
    unsigned odd;    /* enum mt_step_odd */
};

/* Events of one phase in a row, up to the next run's or the step's end. */
struct mt_phase_run {
    uint32_t from;
    uint32_t phase; /* enum mt_phase */
};

/* A stack that layers allocate from, alive at the end of the forward pass. */
struct mt_layer_part {
    uint32_t stack;
    uint64_t bytes, count; /* of one layer, the mean */
};

/* What repeats inside of a pass. */
struct mt_layers {
    size_t count;           /* 0: nothing repeats evenly, or what does is not alike */
    uint64_t bytes;         /* what each leaves alive, the median; what another one would cost */
    uint32_t stack;         /* the allocation that comes once a layer */
    uint64_t before, after; /* what is left alive by the pass above the layers and behind them, with
                               the loss: until the backward pass begins */
    MT_VEC(struct mt_layer_part) parts; /* most bytes first */
    /* Of one layer, told by sizes that come once a layer or more often; 0: none such. */
    uint64_t weights, gradients, state;
};

/* Medians over the whole steps after warm-up, over all rows where there is none. */
struct mt_trace_steps_typical {
    size_t steps;
    uint64_t peak_bytes, requests, device_allocs;
    uint64_t most_device_allocs; /* of one step */
    int64_t us;                  /* -1: no times */
    double hit_rate;             /* of all of them together */
};

struct mt_trace_steps {
    int32_t device;
    bool has_events; /* else all is empty */
    struct mt_periods periods;
    MT_VEC(struct mt_step_row) rows;
    MT_VEC(struct mt_phase_run) runs;      /* of all rows, by event */
    struct mt_trace_steps_typical typical; /* .steps = 0: there are no rows */
    size_t whole;                          /* the first so many have a next one */
    /* As mt_leaks_find says with its usual threshold; MT_LEAK_UNKNOWN without rules. */
    enum mt_leak_verdict leak;
    int64_t leak_bytes_per_step;
    uint32_t leak_stack;           /* of more than half of it; 0: of none */
    struct mt_driver_price driver; /* in those that `typical` is of; of the trace without rows */
    int64_t driver_span_us;        /* how long that took, -1: no times */
    size_t shown; /* the step whose pass is taken apart: the last whole one, else the last */
    struct mt_layers layers;
    /* At the peak of that step, or of the trace without steps. */
    size_t at_event;
    uint64_t at_bytes;
    uint64_t by_category[MT_CATEGORY_COUNT];
    uint64_t sure[MT_CATEGORY_COUNT][MT_SURE_COUNT]; /* the same by what it is known from */
    uint32_t most_from[MT_CATEGORY_COUNT]; /* the stack of more than half of it; 0: of none */
};

/*
 * Looks at one device. `rules` give the categories; NULL: the rows alone. Finding no step is no
 * error. O(n log n); 5 bytes an event while it runs. Errors: MT_NOMEM, MT_NOT_FOUND (as
 * mt_periods_find). Release it also after a failure.
 */
enum mt_status mt_trace_steps_find(struct mt_trace_steps *out, const struct mt_replay *r,
                                   const struct mt_rules *rules, const struct mt_period_options *o,
                                   struct mt_error *err) MT_NODISCARD;
void mt_trace_steps_release(struct mt_trace_steps *x);

/* Of the requests, how many the cache served; 1 without requests. */
double mt_step_hit_rate(const struct mt_step_part *p);

#endif
