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
    MT_PERIOD_DETECTED,    /* an allocation that comes once a step */
    MT_PERIOD_OPTION       /* as the user said */
};

struct mt_periods {
    enum mt_period_source source;
    /* Event indexes, ascending, at which a period begins; period i is [bounds[i], bounds[i + 1]).
     * What stands before the first and behind the last belongs to no whole period. */
    MT_VEC(uint32_t) bounds;
    uint32_t name;  /* ANNOTATIONS: string id of the annotation as first seen, else 0 */
    uint32_t stack; /* DETECTED: the stack of the allocation that marks the step, else 0 */
};

/* Fewer whole periods than this say nothing about growth. */
#define MT_PERIODS_NEEDED 5

struct mt_period_options {
    uint64_t events;        /* > 0: every so many events a period begins */
    const char *annotation; /* not NULL: where this annotation starts; its words are enough: "step"
                               is "## step 3 ##" */
};

/*
 * Finds the periods of the trace in `r`. Without options: from annotations, else from the order of
 * allocations. Finding none is no error: then source is NONE (or as the option says) and bounds are
 * empty. O(n log n), 8 bytes an allocation while it runs. Errors: MT_NOMEM; MT_NOT_FOUND when no
 * annotation has the name, with those that there are as the hint. Release it also after a failure.
 */
enum mt_status mt_periods_find(struct mt_periods *p, const struct mt_snapshot *s,
                               const struct mt_replay *r, const struct mt_period_options *o,
                               struct mt_error *err) MT_NODISCARD;
void mt_periods_release(struct mt_periods *p);

/* Whole periods. */
size_t mt_periods_count(const struct mt_periods *p);

#endif
