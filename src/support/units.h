/* SPDX-License-Identifier: MIT */
/* Sizes and times as people write and read them. */
#ifndef MEMTOOL_SUPPORT_UNITS_H
#define MEMTOOL_SUPPORT_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/str.h"

/* Bytes. */
#define MT_KIB ((uint64_t)1 << 10)
#define MT_MIB ((uint64_t)1 << 20)
#define MT_GIB ((uint64_t)1 << 30)

/* How sizes are printed. AUTO: the largest unit in which the number is at least 1. */
enum mt_unit { MT_UNIT_AUTO, MT_UNIT_B, MT_UNIT_KIB, MT_UNIT_MIB, MT_UNIT_GIB };

struct mt_size_format {
    enum mt_unit unit;
    bool exact; /* " (1610612736)" behind it */
};

/* Enough for every size that mt_size_text prints, with its exact bytes. */
#define MT_SIZE_TEXT 64
struct mt_size_text {
    char s[MT_SIZE_TEXT];
};

/* "1.50 GiB", "512 B"; powers of 1024. By value, so that several fit into one printf. */
struct mt_size_text mt_size_text(uint64_t bytes, struct mt_size_format format);

/* The same with a sign: "+1.50 GiB", "-512 B", "0 B". */
struct mt_size_text mt_size_delta_text(int64_t bytes, struct mt_size_format format);

/* "at least 1.95 GiB, below 2.34 GiB"; "about 3.00 GiB" where both would print alike. */
struct mt_range_text {
    char s[2 * MT_SIZE_TEXT + 24];
};
struct mt_range_text mt_size_range_text(uint64_t least, uint64_t below,
                                        struct mt_size_format format);

/* "12.3 ms", "4.50 s", "850 us"; negative durations get a minus. */
struct mt_size_text mt_duration_text(int64_t us);

/* 12,345,678 with commas. */
struct mt_size_text mt_count_text(uint64_t n);

/* "1 event", "12,345 events": with a short noun whose plural ends in s. */
struct mt_size_text mt_counted_text(uint64_t n, const char *noun);

/*
 * Reads "64", "64M", "64MB", "64MiB", "1.5GiB", "512 KiB" (k, m, g, t, p in either case, all powers
 * of 1024) into bytes, fractions rounded down; false when s is anything else or does not fit, and
 * for a fraction of a byte ("1.9"): there the unit was forgotten.
 */
bool mt_size_parse(struct mt_str s, uint64_t *bytes);

/* Reads "1.5s", "300ms", "20us", "2m", "1h" into microseconds; false for anything else. */
bool mt_duration_parse(struct mt_str s, int64_t *us);

/* Reads a decimal or 0x-hexadecimal number that fits 64 bits; false for anything else. */
bool mt_u64_parse(struct mt_str s, uint64_t *n);

#endif
