/* SPDX-License-Identifier: MIT */
/*
 * Where two runs part. Steps lie on one another, but what happens in them only about: two runs have
 * a short peak in almost the same place. So the highest points near a column are compared, the
 * middle one of neighbouring differences counts, and a step differs by its peak or for half of it.
 */
#include <stdlib.h>

#include "verbs/plots/overlay/overlay.h"

#define APART 0.01 /* of the higher peak: less is not told */
#define PARTS 50   /* of an axis without steps */
#define NEAR 8     /* most columns by which the runs may be out of line */
#define DRIFT 4    /* steps that show a drift */

static uint64_t distance(int64_t a)
{
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

static size_t common_columns(const struct mt_overlay *o)
{
    size_t a = o->runs[0].columns, b = o->runs[1].columns;
    return a < b ? a : b;
}

/* ---- the difference in each column ---- */

/* A fiftieth of a step. */
static size_t uncertainty(const struct mt_overlay *o)
{
    double near = o->axis == MT_OVERLAY_STEPS ? MT_OVERLAY_COLUMNS / o->span / 50 : 3;
    return near < 1 ? 1 : near > NEAR ? NEAR : (size_t)near;
}

static int64_t most_near(const struct mt_overlay_run *run, size_t column, size_t near)
{
    uint64_t most = 0;
    for (size_t i = column > near ? column - near : 0; i <= column + near && i < run->columns;
         i++) {
        most = run->most[i] > most ? run->most[i] : most;
    }
    return (int64_t)most;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void find_apart(struct mt_overlay *o)
{
    int64_t raw[MT_OVERLAY_COLUMNS], window[2 * NEAR + 1];
    size_t end = common_columns(o), near = uncertainty(o);
    for (size_t i = 0; i < end; i++) {
        raw[i] = most_near(&o->runs[1], i, near) - most_near(&o->runs[0], i, near);
    }
    for (size_t i = 0; i < end; i++) {
        size_t n = 0;
        for (size_t k = i > near ? i - near : 0; k <= i + near && k < end; k++) {
            window[n++] = raw[k];
        }
        qsort(window, n, sizeof *window, by_value);
        o->apart[i] = window[n / 2];
    }
}

/* ---- by steps ---- */

/* The part in columns [from, to). */
static struct mt_overlay_part part_of(const struct mt_overlay *o, size_t from, size_t to,
                                      uint64_t allowed)
{
    struct mt_overlay_part part = {.x = -1};
    size_t widest = from, columns = 0;
    for (size_t i = from; i < to; i++) {
        for (size_t run = 0; run < 2; run++) {
            uint64_t most = o->runs[run].most[i];
            part.bytes[run] = most > part.bytes[run] ? most : part.bytes[run];
        }
        widest = distance(o->apart[i]) > distance(o->apart[widest]) ? i : widest;
        if (distance(o->apart[i]) > allowed) {
            part.x = columns++ ? part.x : (double)i / MT_OVERLAY_COLUMNS;
        }
    }
    part.x = part.x < 0 ? (double)widest / MT_OVERLAY_COLUMNS : part.x;
    part.change = (int64_t)(part.bytes[1] - part.bytes[0]);
    part.differs = distance(part.change) > allowed;
    if (!part.differs && to > from && 2 * columns >= to - from) {
        part.differs = part.below_peak = true;
        part.change = o->apart[widest];
    }
    return part;
}

static double part_end(const struct mt_overlay *o, size_t i)
{
    if (o->axis != MT_OVERLAY_STEPS) {
        return (double)(i + 1) / PARTS;
    }
    return (o->lead + (double)i + (o->lead > 0 ? 0 : 1)) / o->span;
}

/* What comes before the first step is told only where nothing behind it differs. */
static void note_part(struct mt_overlay *o, const struct mt_overlay_part *part, bool lead)
{
    bool first = !o->differs || o->first_is_lead;
    if (!part->differs) {
        return;
    }
    if (first) {
        o->first = *part;
        o->first_is_lead = lead;
    }
    if (first || distance(part->change) > distance(o->most.change)) {
        o->most = *part;
    }
    o->differs = true;
}

/* ---- slow growth ---- */

/* The changes of the steps, from the first that has one, grow evenly; the last may be cut off. */
static void find_drift(struct mt_overlay *o, const struct mt_overlay_part *steps, size_t n)
{
    size_t first = 0;
    while (first < n && steps[first].bytes[0] == steps[first].bytes[1]) {
        first++;
    }
    if (n < first + DRIFT + 1 || !o->differs || o->first_is_lead) {
        return;
    }
    size_t last = n - 2;
    double slope = (double)(steps[last].change - steps[first].change) / (double)(last - first);
    bool even = (double)distance(steps[first].change) <= 1.5 * (slope < 0 ? -slope : slope);
    for (size_t i = first + 1; even && i <= last; i++) {
        double grown = (double)(steps[i].change - steps[i - 1].change);
        even = grown * slope > 0 && grown / slope > 0.5 && grown / slope < 1.5;
    }
    if (even) {
        o->drift = (int64_t)slope;
        o->first = steps[first];
    }
}

void mt_overlay_find_difference(struct mt_overlay *o)
{
    struct mt_overlay_part steps[MT_OVERLAY_COLUMNS];
    uint64_t a = o->runs[0].timeline->peak, b = o->runs[1].timeline->peak;
    uint64_t allowed = (uint64_t)(APART * (double)(a > b ? a : b));
    size_t end = common_columns(o), n = 0;
    find_apart(o);
    for (size_t i = 0, from = 0; from < end && o->span > 0; i++) {
        double x = part_end(o, i) * MT_OVERLAY_COLUMNS;
        size_t to = x < (double)end ? (size_t)x : end;
        struct mt_overlay_part part = part_of(o, from, to, allowed);
        bool lead = o->axis == MT_OVERLAY_STEPS && o->lead > 0 && i == 0;
        part.step = lead || o->axis != MT_OVERLAY_STEPS ? SIZE_MAX : i - (o->lead > 0);
        note_part(o, &part, lead);
        if (!lead && to > from) {
            steps[n++] = part;
        }
        from = to;
    }
    if (o->axis == MT_OVERLAY_STEPS) {
        find_drift(o, steps, n);
    }
}
