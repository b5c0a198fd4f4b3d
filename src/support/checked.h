/* SPDX-License-Identifier: MIT */
/* Arithmetic on numbers that come from input: each returns true when the result does not fit. */
#ifndef MEMTOOL_SUPPORT_CHECKED_H
#define MEMTOOL_SUPPORT_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#define mt_add_overflow(a, b, out) __builtin_add_overflow((a), (b), (out))
#define mt_sub_overflow(a, b, out) __builtin_sub_overflow((a), (b), (out))
#define mt_mul_overflow(a, b, out) __builtin_mul_overflow((a), (b), (out))

/* a + b, or UINT64_MAX where that does not fit: for totals that are only shown. */
static inline uint64_t mt_add_sat(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return mt_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* From one time to another, negative where `to` is earlier; at most INT64_MAX
 * away, so that it is never taken for MT_NO_TIME. All in the same unit. */
static inline int64_t mt_time_between(int64_t from, int64_t to)
{
    int64_t d;
    if (!mt_sub_overflow(to, from, &d) && d != INT64_MIN) {
        return d;
    }
    return to < from ? -INT64_MAX : INT64_MAX;
}

/* a - b, or 0 where b is larger. */
static inline uint64_t mt_sub_sat(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

#endif
