/* SPDX-License-Identifier: MIT */
/* The memory of several runs over one another: on one scale, step over step. */
#ifndef MEMTOOL_VERBS_PLOTS_OVERLAY_OVERLAY_H
#define MEMTOOL_VERBS_PLOTS_OVERLAY_OVERLAY_H

#include "draw/plot.h"
#include "heap/findings/period.h"
#include "heap/walk/timeline.h"

#define MT_OVERLAY_RUNS 8
#define MT_OVERLAY_COLUMNS 1024
/* Timelines that are laid over one another have so many columns, since steps differ in length. */
#define MT_OVERLAY_DETAIL 8192

enum mt_overlay_axis { MT_OVERLAY_CHOOSE, MT_OVERLAY_STEPS, MT_OVERLAY_EVENTS, MT_OVERLAY_TIME };

/* Where an event lies on an axis of steps. */
struct mt_overlay_knot {
    size_t event;
    double place;
};

/* A device of a file. Replay and timeline are borrowed. */
struct mt_overlay_run {
    const char *file;
    size_t color; /* which file it is */
    const struct mt_replay *replay;
    const struct mt_timeline *timeline;
    struct mt_periods periods;
    MT_VEC(struct mt_overlay_knot) knots; /* STEPS: ascending; straight lines between them */
    size_t columns;                       /* it ends behind so many */
    uint64_t most[MT_OVERLAY_COLUMNS];    /* bytes in use, the most of each column */
    uint64_t most_reserved[MT_OVERLAY_COLUMNS];
};

/* A part of the axis in which two runs are compared: a step, or a fiftieth of the axis. */
struct mt_overlay_part {
    size_t step;       /* SIZE_MAX: before the first step, or no step */
    double x;          /* 0 .. 1: where they differ in it */
    uint64_t bytes[2]; /* the most of each */
    bool differs;
    bool below_peak; /* the most of each does not differ, but what is below it */
    int64_t change;  /* from the first run to the second, of the most of each or below it */
};

struct mt_overlay {
    bool segments;             /* timelines of reserved memory */
    uint64_t capacity;         /* of the device, 0: not known */
    enum mt_overlay_axis axis; /* as found: never CHOOSE */
    double lead;               /* STEPS: how wide what stands before step 0 is, in steps */
    double span;               /* of the axis, in steps (with `lead`), events or us */
    size_t n;
    struct mt_overlay_run *runs; /* n of them, at most MT_OVERLAY_RUNS */
    /* Of two runs, where both are there: by how much the second is above the first, without what
     * is only out of line; the first part in which they differ by more than a hundredth of the
     * higher peak, before the first step only if no step does, and the part in which they differ
     * most. */
    int64_t apart[MT_OVERLAY_COLUMNS];
    bool differs, first_is_lead;
    struct mt_overlay_part first, most;
    int64_t
        drift; /* bytes a step, from the first step that differs at all, which is `first`; or 0 */
};

/*
 * An overlay without runs, then one run after the other, then the axis, which becomes STEPS where
 * it is free to choose and all runs with events have two steps at least. Errors: MT_NOMEM, MT_LIMIT
 * (too many runs), MT_NOT_FOUND (STEPS was asked for and a run has none). Release it also after a
 * failure.
 */
enum mt_status mt_overlay_init(struct mt_overlay *o, bool segments, struct mt_error *err)
    MT_NODISCARD;
enum mt_status mt_overlay_add(struct mt_overlay *o, const char *file, size_t color,
                              const struct mt_replay *r, const struct mt_timeline *t,
                              struct mt_error *err) MT_NODISCARD;
enum mt_status mt_overlay_align(struct mt_overlay *o, enum mt_overlay_axis axis,
                                struct mt_error *err) MT_NODISCARD;
void mt_overlay_release(struct mt_overlay *o);

/* For mt_overlay_align: knots of all runs. Errors: MT_NOMEM. */
enum mt_status mt_overlay_align_steps(struct mt_overlay *o, struct mt_error *err) MT_NODISCARD;
/* Where an event lies on an axis of steps, from the left end. The run has events. */
double mt_overlay_step_place(const struct mt_overlay_run *run, size_t event);

/* Of two runs that are aligned: apart to drift. For mt_overlay_align. */
void mt_overlay_find_difference(struct mt_overlay *o);

/* The most bytes that any run draws, and the capacity where that is not out of all proportion. */
uint64_t mt_overlay_highest(const struct mt_overlay *o);

/* "step 3", "before the first step", "event 1,234", "2.50 s" of a place on the axis. */
void mt_overlay_say_place(struct mt_buf *b, const struct mt_overlay *o,
                          const struct mt_overlay_part *part);
/* A run's name: what tells its file apart from the others. */
struct mt_str mt_overlay_name(const struct mt_overlay *o, size_t run);
/* "device 0 · peak 1.93 GiB · reserved up to 1.97 GiB · 24 steps". */
void mt_overlay_say_run(struct mt_buf *b, const struct mt_overlay *o, size_t run,
                        struct mt_size_format f);
/* "runs diverge in step 3", "drift apart by +2.00 MiB per step from step 0". */
void mt_overlay_say_parting(struct mt_buf *b, const struct mt_overlay *o, struct mt_size_format f);
/* Where two runs part, in a sentence or two; nothing of more or fewer runs. */
void mt_overlay_say_difference(struct mt_buf *b, const struct mt_overlay *o,
                               struct mt_size_format f);

/* Pictures, a panel a device. Errors: MT_NOMEM. */
enum mt_status mt_overlay_scene(struct mt_scene *scene, const struct mt_overlay *panels, size_t n,
                                struct mt_error *err) MT_NODISCARD;
enum mt_status mt_overlay_term(const struct mt_overlay *panels, size_t n,
                               const struct mt_plot_style *style, const struct mt_term_style *term,
                               struct mt_buf *out, struct mt_error *err) MT_NODISCARD;

#endif
