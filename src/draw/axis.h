/* SPDX-License-Identifier: MIT */
/* Round numbers along an axis, and how they are written. */
#ifndef MEMTOOL_DRAW_AXIS_H
#define MEMTOOL_DRAW_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/units.h"

#define MT_AXIS_TICKS 16

struct mt_tick {
    double value;
    char label[MT_SIZE_TEXT];
};

struct mt_axis {
    double max; /* of the axis: at least what was asked for */
    size_t n;
    struct mt_tick ticks[MT_AXIS_TICKS];
};

/* Bytes from 0: steps of 1, 2, 4 or 5 times a power of two of B, KiB, MiB ...; at most `want`
 * intervals. */
void mt_axis_bytes(struct mt_axis *a, double max, size_t want);

/* Whole numbers from lo to hi: steps of 1, 2 or 5 times a power of ten. */
void mt_axis_counts(struct mt_axis *a, double lo, double hi, size_t want);

/* Microseconds from 0: round steps in us, ms, s, min, h. */
void mt_axis_time(struct mt_axis *a, double span_us, size_t want);

#endif
