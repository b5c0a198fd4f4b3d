/* SPDX-License-Identifier: MIT */
/* Series of one number a period, and the question whether their floor rises. */
#ifndef MEMTOOL_HEAP_FINDINGS_FLOOR_H
#define MEMTOOL_HEAP_FINDINGS_FLOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Turns a series into its floor: at each place the least of what is there and of what follows. A
 * floor never falls; what it holds is not given back before the end. In place. */
void mt_floor_of(uint64_t *y, size_t n);

/* Slope of the straight line of least squares through y[0 .. n), per place; and R squared. */
struct mt_line {
    double slope;
    double fit;
};
struct mt_line mt_line_through(const uint64_t *y, size_t n);

/* Of one memory (a stack, or the rest): a place is a period. */
struct mt_track {
    const uint64_t *bytes;  /* floor */
    const uint64_t *count;  /* floor of the number of allocations */
    const uint64_t *volume; /* bytes that others allocated in the period */
};

enum mt_rise {
    MT_RISE_NONE,
    MT_RISE_FILLS,         /* rose, and then rose much slower or stayed */
    MT_RISE_LONGER_INPUTS, /* the same number of allocations, larger with the work done */
    MT_RISE_STEADY
};
struct mt_rising {
    enum mt_rise rise;
    size_t from;  /* the place from which it rises steadily */
    double slope; /* bytes a place, from there on; STEADY only */
};

/* How a floor of n places rises. `dropped`: the most that the memory fell from an earlier high. */
struct mt_rising mt_track_judge(const struct mt_track *t, size_t n, uint64_t dropped);

#endif
