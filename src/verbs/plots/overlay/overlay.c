/* SPDX-License-Identifier: MIT */
/*
 * Runs are laid over one another by steps: step k of one over step k of the other, whatever its
 * number of events, and within a step by the lines that both reach. So two runs of one program lie
 * on one another until they do different things.
 */
#include "verbs/plots/overlay/overlay.h"

#include <string.h>

#include "support/mem.h"

#define FAR 3 /* a capacity so many times as high is not drawn */

enum mt_status mt_overlay_init(struct mt_overlay *o, bool segments, struct mt_error *err)
{
    *o = (struct mt_overlay){.segments = segments,
                             .runs = mt_mem_zalloc(MT_OVERLAY_RUNS, sizeof *o->runs)};
    return o->runs ? MT_OK : mt_fail_nomem(err);
}

void mt_overlay_release(struct mt_overlay *o)
{
    for (size_t i = 0; i < o->n; i++) {
        mt_periods_release(&o->runs[i].periods);
        mt_vec_release(&o->runs[i].knots);
    }
    mt_mem_free(o->runs);
    *o = (struct mt_overlay){0};
}

enum mt_status mt_overlay_add(struct mt_overlay *o, const char *file, size_t color,
                              const struct mt_replay *r, const struct mt_timeline *t,
                              struct mt_error *err)
{
    static const struct mt_period_options detect = {0};
    if (o->n == MT_OVERLAY_RUNS) {
        return mt_fail(err, MT_LIMIT, MT_NO_OFFSET,
                       "more than %d files do not lie over one another: --side-by-side, or the "
                       "verb ranks",
                       MT_OVERLAY_RUNS);
    }
    struct mt_overlay_run *run = &o->runs[o->n++];
    run->file = file;
    run->color = color;
    run->replay = r;
    run->timeline = t;
    return mt_periods_find(&run->periods, r, &detect, err);
}

/* ---- the axis ---- */

static bool shows_all(const struct mt_overlay_run *run)
{
    return run->timeline->first == 0 && run->timeline->last >= run->replay->n;
}

static bool has_steps(const struct mt_overlay *o)
{
    bool any = false;
    for (size_t i = 0; i < o->n; i++) {
        const struct mt_overlay_run *run = &o->runs[i];
        if (run->replay->n && (run->periods.bounds.n < 2 || !shows_all(run))) {
            return false;
        }
        any |= run->replay->n > 0;
    }
    return any;
}

static bool has_times(const struct mt_overlay *o)
{
    for (size_t i = 0; i < o->n; i++) {
        if (o->runs[i].timeline->last_us <= o->runs[i].timeline->first_us) {
            return false;
        }
    }
    return o->n > 0;
}

/* Where the moment after an event lies, in the unit of the axis. */
static double place_of(const struct mt_overlay *o, const struct mt_overlay_run *run, size_t event)
{
    const struct mt_timeline *t = run->timeline;
    if (event == SIZE_MAX || event >= run->replay->n) {
        return 0;
    }
    if (o->axis == MT_OVERLAY_STEPS) {
        return mt_overlay_step_place(run, event);
    }
    if (o->axis == MT_OVERLAY_EVENTS) {
        return event > t->first ? (double)(event - t->first) : 0;
    }
    int64_t us = run->replay->events[event].time_us;
    bool known = us != MT_NO_TIME && us >= t->first_us;
    return known ? (double)us - (double)t->first_us : 0;
}

static double end_of(const struct mt_overlay *o, const struct mt_overlay_run *run)
{
    const struct mt_timeline *t = run->timeline;
    size_t last = t->last < run->replay->n ? t->last : run->replay->n;
    return last > t->first ? place_of(o, run, last - 1) : 0;
}

static enum mt_status find_span(struct mt_overlay *o, struct mt_error *err)
{
    for (size_t i = 0; o->axis == MT_OVERLAY_STEPS && i < o->n; i++) {
        const struct mt_periods *p = &o->runs[i].periods;
        o->lead = p->bounds.n && p->bounds.v[0] > 0 ? 1 : o->lead;
    }
    if (o->axis == MT_OVERLAY_STEPS) {
        MT_TRY(mt_overlay_align_steps(o, err));
    }
    for (size_t i = 0; i < o->n; i++) {
        double end = end_of(o, &o->runs[i]);
        o->span = end > o->span ? end : o->span;
    }
    return MT_OK;
}

/* ---- columns ---- */

static size_t column_of(const struct mt_overlay *o, double place)
{
    double x = o->span > 0 ? place / o->span * MT_OVERLAY_COLUMNS : 0;
    return x < MT_OVERLAY_COLUMNS - 1 ? (size_t)x : MT_OVERLAY_COLUMNS - 1;
}

static void raise(uint64_t *most, uint64_t bytes)
{
    *most = bytes > *most ? bytes : *most;
}

/* A value holds until the next one. */
static void fill_columns(const struct mt_overlay *o, struct mt_overlay_run *run)
{
    const struct mt_timeline *t = run->timeline;
    size_t column = 0;
    uint64_t bytes = 0, reserved = 0;
    run->columns = run->replay->n ? column_of(o, end_of(o, run)) + 1 : MT_OVERLAY_COLUMNS;
    for (size_t i = 0; i < t->samples.n; i++) {
        const struct mt_timeline_sample *s = &t->samples.v[i];
        size_t at = column_of(o, place_of(o, run, s->event));
        for (; column < at; column++) {
            raise(&run->most[column], bytes);
            raise(&run->most_reserved[column], reserved);
        }
        raise(&run->most[column], bytes);
        raise(&run->most_reserved[column], reserved);
        bytes = s->total;
        reserved = o->segments ? s->live : s->reserved;
        raise(&run->most[column], bytes);
        raise(&run->most_reserved[column], reserved);
    }
    for (; column < run->columns; column++) {
        raise(&run->most[column], bytes);
        raise(&run->most_reserved[column], reserved);
    }
}

uint64_t mt_overlay_highest(const struct mt_overlay *o)
{
    uint64_t most = 0;
    for (size_t i = 0; i < o->n; i++) {
        raise(&most, o->runs[i].timeline->peak);
        raise(&most, o->runs[i].timeline->reserved_peak);
    }
    if (o->capacity / FAR <= most) {
        raise(&most, o->capacity);
    }
    return most;
}

enum mt_status mt_overlay_align(struct mt_overlay *o, enum mt_overlay_axis axis,
                                struct mt_error *err)
{
    o->axis =
        axis == MT_OVERLAY_CHOOSE ? has_steps(o) ? MT_OVERLAY_STEPS : MT_OVERLAY_EVENTS : axis;
    if (axis == MT_OVERLAY_STEPS && !has_steps(o)) {
        return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
                       "not all of the files show two steps or more in what is drawn: leave out "
                       "--x step");
    }
    if (axis == MT_OVERLAY_TIME && !has_times(o)) {
        o->axis = MT_OVERLAY_EVENTS;
    }
    MT_TRY(find_span(o, err));
    for (size_t i = 0; i < o->n; i++) {
        fill_columns(o, &o->runs[i]);
    }
    if (o->n == 2) {
        mt_overlay_find_difference(o);
    }
    return MT_OK;
}
