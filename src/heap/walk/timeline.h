/* SPDX-License-Identifier: MIT */
/*
 * Memory over a trace, made small enough to draw: a few hundred moments, and at each of them how
 * much the largest stacks held. Drawing cost follows the width of the picture, not the trace.
 *
 * The moments are chosen so that no extreme is lost: each column of the picture keeps the moments
 * of the lowest and the highest total, and of what is drawn as a line over it (reserved memory, or
 * with segments what is in use). At each moment the bands sum to the total exactly.
 */
#ifndef MEMTOOL_HEAP_WALK_TIMELINE_H
#define MEMTOOL_HEAP_WALK_TIMELINE_H

#include "heap/stacks/filter.h"
#include "heap/walk/replay.h"
#include "snapshot/model/model.h"
#include "support/error.h"
#include "support/vec.h"

/* Pseudo-stacks of bands. */
#define MT_BAND_OLDER (UINT32_MAX - 1) /* alive before the trace began */
#define MT_BAND_OTHERS UINT32_MAX      /* all stacks without a band of their own */

enum mt_timeline_subject {
    MT_TIMELINE_MEMORY,  /* requested bytes of allocations, by the stack that allocated */
    MT_TIMELINE_SEGMENTS /* reserved bytes, by the stack that made the allocator reserve; map and
                            unmap of expandable segments included */
};

struct mt_timeline_options {
    enum mt_timeline_subject subject;
    bool by_time;               /* columns of equal time, not of equally many events */
    size_t columns;             /* 1 .. 65,536 */
    size_t bands;               /* stacks with a band of their own, at most 64 */
    struct mt_filtered *filter; /* allocations that do not pass are left out; NULL: none */
    bool live_only;             /* only what is never freed in the trace */
    bool freed_only;            /* only what is */
    size_t first, last;         /* the events [first, last) are shown; last is cut to the trace */
};

struct mt_timeline_sample {
    double x;          /* 0 .. 1 from the left end to the right */
    size_t event;      /* the moment after it; SIZE_MAX: before the first event */
    uint64_t total;    /* bytes of all bands */
    uint64_t live;     /* requested bytes alive, whatever the subject and the filters */
    uint64_t reserved; /* bytes of segments */
};

struct mt_timeline_band {
    uint32_t stack;   /* or MT_BAND_OLDER, MT_BAND_OTHERS */
    size_t stacks;    /* in OTHERS: how many */
    size_t held;      /* of them, those with bytes at the peak */
    uint64_t at_peak; /* bytes at the moment of the peak */
    size_t count;     /* allocations (segments) at the peak */
    uint64_t max;     /* most in the part that is shown; of OTHERS among the samples */
};

struct mt_timeline_oom {
    size_t event;
    double x;
    uint64_t asked;       /* rounded request */
    uint64_t need;        /* bytes of the segment that it would have taken */
    uint64_t device_free; /* bytes that the driver had free */
    uint64_t live, reserved;
};

struct mt_timeline {
    int32_t device;
    size_t n_events;           /* of the trace, all of them */
    size_t first, last;        /* the events shown */
    int64_t first_us, last_us; /* of the events shown, or MT_NO_TIME */
    bool by_time;              /* as asked for, false when the file has no times */
    bool every_event;          /* each event has its own sample */
    bool flat;                 /* nothing happens: the samples are two ends of what is alive */

    /* In the order of stacking, from the bottom: OLDER, the stacks (steady ones below), OTHERS. */
    MT_VEC(struct mt_timeline_band) bands;
    MT_VEC(struct mt_timeline_sample) samples;
    uint64_t *values; /* samples.n rows of bands.n bytes */

    uint64_t peak;     /* largest total of the events shown, exact */
    size_t peak_event; /* SIZE_MAX: before the first event */
    double peak_x;
    uint64_t reserved_peak;
    size_t reserved_peak_event;
    double reserved_peak_x;
    MT_VEC(struct mt_timeline_oom) ooms;
};

/* Whether something with so many bytes at the peak and at most has a place in a legend: what holds
 * nothing at the peak, and too little at another time to be seen, would be a row of 0 B. Stacks
 * without one get no band, they are among the others. */
bool mt_timeline_has_row(const struct mt_timeline *t, uint64_t at_peak, uint64_t max);

/*
 * Walks the trace three times; O(events + samples * bands). `r` is borrowed for the call. Errors:
 * MT_NOMEM. On MT_OK the caller frees with mt_timeline_release.
 */
enum mt_status mt_timeline_init(struct mt_timeline *t, const struct mt_replay *r,
                                const struct mt_timeline_options *o, struct mt_error *err)
    MT_NODISCARD;
void mt_timeline_release(struct mt_timeline *t);

/*
 * What the refusals of a trace tell of a limit of the process, which no file names: it is at least
 * what was granted, and below what was refused. `granted`: the most that was ever reserved. False
 * when the device, not a limit, refused the last request, or nothing was refused.
 */
struct mt_limit_range {
    uint64_t least, below; /* least <= limit < below */
};
bool mt_timeline_limit(const struct mt_timeline *t, uint64_t granted, struct mt_limit_range *out);

/* Where an event (its moment after it) lies, 0 .. 1. */
double mt_timeline_x(const struct mt_timeline *t, const struct mt_replay *r, size_t event);

/* The number of events with a time before `time_us`: where a moment falls in the trace. O(log n);
 * times that go backwards are met somewhere near. */
size_t mt_timeline_event_at(const struct mt_replay *r, int64_t time_us);

#endif
