/* SPDX-License-Identifier: MIT */
/* Where one training or serving step ends and the next begins, in a device's trace. */
#ifndef MEMTOOL_HEAP_FINDINGS_PERIOD_H
#define MEMTOOL_HEAP_FINDINGS_PERIOD_H

#include "heap/walk/replay.h"
#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"

enum mt_period_source {
    MT_PERIOD_NONE,        /* nothing in the trace repeats */
    MT_PERIOD_ANNOTATIONS, /* the START of an annotation that comes once a step */
    MT_PERIOD_DETECTED,    /* a call of the model, or an allocation that comes once a step */
    MT_PERIOD_OPTION       /* as the user said */
};

/* A call of the program's model: the events from its first allocation to behind its last. */
struct mt_pass {
    uint32_t begin, end;
};

struct mt_passes {
    struct mt_pass *v; /* as MT_VEC */
    size_t n, cap;
    bool of_layers; /* the program calls PyTorch's own layers itself: each is a round of a loop */
};

struct mt_periods {
    enum mt_period_source source;
    /* Event indexes, ascending, at which a period begins; period i is [bounds[i], bounds[i + 1]).
     * What stands before the first belongs to no period, what begins with the last bound may not be
     * whole. */
    MT_VEC(uint32_t) bounds;
    uint32_t name;  /* ANNOTATIONS: string id of the annotation as first seen, else 0 */
    uint32_t stack; /* DETECTED: the stack of the allocation that marks the step, else 0 */
    /* Calls of the model; none where no stack tells them. With an optimizer or several models a
     * step may have several. */
    struct mt_passes passes;
    bool of_frames;     /* DETECTED by lines of code; else by sizes alone */
    bool may_be_layers; /* steps, or the layers of one pass: of sizes alone, and each keeps most of
                           what it takes; or in a program that calls no model of its own and does
                           not learn, within a function that is called once; or in one that does,
                           where most lack a backward pass or what comes before it */
    bool learns;        /* the trace has a backward pass */
};

/* Fewer whole periods than this say nothing about growth. */
#define MT_PERIODS_NEEDED 5

struct mt_period_options {
    uint64_t events;        /* > 0: every so many events a period begins */
    const char *annotation; /* not NULL: where this annotation starts; its words are enough: "step"
                               is "## step 3 ##" */
};

/*
 * Finds the steps of the trace in `r`; whoever speaks of steps asks here. Without options the
 * program's own annotations of steps go first, then the calls of its model, taken together between
 * two steps of its optimizer, then the optimizer's annotations alone, and only where nothing of
 * these is there the order of allocations. One call of a model is one period, however many layers
 * it has. Finding none is no error: then source is NONE (or as the option says) and bounds are
 * empty. O(n log n), 8 bytes an allocation while it runs. Errors: MT_NOMEM; MT_NOT_FOUND when no
 * annotation has the name, with those that there are as the hint. Release it also after a failure.
 */
enum mt_status mt_periods_find(struct mt_periods *p, const struct mt_replay *r,
                               const struct mt_period_options *o, struct mt_error *err)
    MT_NODISCARD;
void mt_periods_release(struct mt_periods *p);

/* Periods of which both ends are known. */
size_t mt_periods_count(const struct mt_periods *p);

#endif
