/* SPDX-License-Identifier: MIT */
/*
 * When is growth a leak? Three signs, and each is a comparison within the run itself, so that none
 * needs to know the model or the card:
 *
 *   - The floor rises. What is given back later (a sawtooth, one large input, activations of longer
 *     sequences) is not in the floor.
 *   - It rises in every third of the run. What fills and stays (a cache, optimizer state, warm-up)
 *     has an empty last third; filling at random slows down and has a thin one. The last third must
 *     bring at least half of an even share and the others a quarter, so that a leak that speeds up
 *     still counts. The last tooth of a sawtooth rises in the last part only.
 *   - There are more and more allocations. Where only their size grows, the work that was done
 * tells: one tensor that is kept until the next step and grows with longer inputs grows as the rest
 * of the step does; a tensor that something is appended to grows alone.
 *
 * A leak may begin late (an evaluation that was switched on): then the run is taken from the first
 * rise on, provided that what is left is long enough and that the memory was never given back.
 */
#include "heap/findings/floor.h"

void mt_floor_of(uint64_t *y, size_t n)
{
    for (size_t i = n; i-- > 1;) {
        if (y[i] < y[i - 1]) {
            y[i - 1] = y[i];
        }
    }
}

struct mt_line mt_line_through(const uint64_t *y, size_t n)
{
    if (n < 2) {
        return (struct mt_line){0, 0};
    }
    double middle = ((double)n - 1) / 2;
    double mean = 0;
    for (size_t i = 0; i < n; i++) {
        mean += (double)y[i] / (double)n;
    }
    double xx = 0;
    double xy = 0;
    double yy = 0;
    for (size_t i = 0; i < n; i++) {
        double dx = (double)i - middle;
        double dy = (double)y[i] - mean;
        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
    }
    return (struct mt_line){xy / xx, yy > 0 ? xy * xy / (xx * yy) : 1};
}

/* The ends of the thirds of n places: 0, i, j, n - 1. */
static size_t third(size_t n, size_t k)
{
    return (k * (n - 1) * 2 + 3) / 6;
}

enum shape { FLAT, SLOWS, EVEN, LATE };

/* How the floor's growth is spread over its thirds. */
static enum shape shape_of(const uint64_t *y, size_t n)
{
    if (n < 4 || y[n - 1] <= y[0]) {
        return FLAT;
    }
    double share = (double)(y[n - 1] - y[0]) / 3;
    double a = (double)(y[third(n, 1)] - y[0]);
    double b = (double)(y[third(n, 2)] - y[third(n, 1)]);
    double c = (double)(y[n - 1] - y[third(n, 2)]);
    if (c < share / 2) {
        return SLOWS;
    }
    return a < share / 4 || b < share / 4 ? LATE : EVEN;
}

static double mean_of(const uint64_t *y, size_t first, size_t end)
{
    double sum = 0;
    for (size_t i = first; i < end; i++) {
        sum += (double)y[i];
    }
    return end > first ? sum / (double)(end - first) : 0;
}

/* Growth of the mean from the first third to the last, as a share of the first. */
static double relative_growth(const uint64_t *y, size_t n)
{
    size_t part = n / 3 ? n / 3 : 1;
    double before = mean_of(y, 0, part);
    double after = mean_of(y, n - part, n);
    return (after - before) / (before > 1 ? before : 1);
}

/* The same allocations, larger because everything is. */
static bool grows_with_the_work(const struct mt_track *t, size_t from, size_t n)
{
    if (shape_of(t->count + from, n) == EVEN) {
        return false;
    }
    double work = relative_growth(t->volume + from, n);
    return work > 0.05 && work >= 0.25 * relative_growth(t->bytes + from, n);
}

static struct mt_rising steady(const struct mt_track *t, size_t from, size_t n)
{
    struct mt_rising r = {MT_RISE_STEADY, from, 0};
    if (grows_with_the_work(t, from, n)) {
        r.rise = MT_RISE_LONGER_INPUTS;
    } else {
        r.slope = mt_line_through(t->bytes + from, n).slope;
    }
    return r;
}

struct mt_rising mt_track_judge(const struct mt_track *t, size_t n, uint64_t dropped)
{
    switch (shape_of(t->bytes, n)) {
    case EVEN: return steady(t, 0, n);
    case SLOWS: return (struct mt_rising){MT_RISE_FILLS, 0, 0};
    case FLAT: return (struct mt_rising){MT_RISE_NONE, 0, 0};
    case LATE: break;
    }
    size_t from = 0;
    while (from + 1 < n && t->bytes[from + 1] == t->bytes[0]) {
        from++;
    }
    size_t left = n - from;
    bool kept = dropped < (t->bytes[n - 1] - t->bytes[0]) / 2;
    if (kept && left >= 5 && left >= n / 3 && shape_of(t->bytes + from, left) == EVEN) {
        return steady(t, from, left);
    }
    return (struct mt_rising){MT_RISE_NONE, 0, 0};
}
