/* SPDX-License-Identifier: MIT */
/* top: what its script writes, and what is made of it. */
#include <math.h>

#include "unit.h"
#include "verbs/top/top.h"

static struct mt_top_sample sample(int i, uint64_t low)
{
    struct mt_top_sample s = {.time_us = 1000000 * (int64_t)(i + 1),
                              .live = low,
                              .low = low,
                              .reserved = 2 * low,
                              .requests = 100 * (uint64_t)i,
                              .misses = 10 * (uint64_t)i,
                              .calls = 20 * (uint64_t)i,
                              .free = 1 << 30,
                              .total = UINT64_C(16) << 30,
                              .uuid = "-"};
    return s;
}

START_TEST(lines)
{
    struct mt_top_sample s;
    ck_assert(mt_top_sample_parse("1 2 3 4 5 6 7 8 9 10 11 12 13 uu-id NVIDIA H200", &s));
    ck_assert(s.device == 1 && s.time_us == 2 && s.live == 3 && s.low == 4 && s.reserved == 5);
    ck_assert(s.requests == 6 && s.calls == 7 && s.misses == 8 && s.retries == 9 && s.ooms == 10);
    ck_assert(s.hole == 11 && s.free == 12 && s.total == 13);
    ck_assert_str_eq(s.uuid, "uu-id");
    ck_assert_str_eq(s.name, "NVIDIA H200");
    ck_assert(!mt_top_sample_parse("1 2 3", &s));
    ck_assert(!mt_top_sample_parse("", &s));
}
END_TEST

/* A straight rise is found to the byte, also under noise that is five times as large. */
START_TEST(growth)
{
    struct mt_top_row row = {0};
    struct mt_top_figures f;
    double rate;
    for (int i = 0; i < 7; i++) {
        struct mt_top_sample s = sample(i, (uint64_t)(1000 + 100 * i));
        mt_top_row_put(&row, &s);
        ck_assert(!mt_top_growth(&row, &rate)); /* too few */
    }
    for (int i = 7; i < 200; i++) {
        struct mt_top_sample s = sample(i, (uint64_t)(1000 + 100 * i));
        mt_top_row_put(&row, &s);
    }
    ck_assert(mt_top_growth(&row, &rate) && fabs(rate - 100) < 1e-9);
    mt_top_figures(&row, &f);
    ck_assert(f.has_rates && fabs(f.calls_per_s - 20) < 1e-9);
    ck_assert(f.has_hits && fabs(f.hits - 0.9) < 1e-9);
    ck_assert(f.has_full && f.full_in > (double)(1 << 30) / 100);
    row = (struct mt_top_row){0};
    for (int i = 0; i < 60; i++) {
        struct mt_top_sample s = sample(i, (uint64_t)(100000 + 100 * i + 500 * (i * 7919 % 11)));
        mt_top_row_put(&row, &s);
    }
    ck_assert(mt_top_growth(&row, &rate) && rate > 70 && rate < 130);
}
END_TEST

START_TEST(no_growth)
{
    struct mt_top_row row = {0};
    double rate;
    uint32_t seed = 1;
    int found = 0;
    for (int i = 0; i < 2000; i++) {
        seed = seed * 1664525 + 1013904223;
        struct mt_top_sample s = sample(i, 1000000 + (seed >> 16));
        mt_top_row_put(&row, &s);
        found += mt_top_growth(&row, &rate);
    }
    ck_assert_int_lt(found, 20); /* neighbours share most of what they are judged by */
    row = (struct mt_top_row){0};
    for (int i = 0; i < 60; i++) {
        struct mt_top_sample flat = sample(i, 5000);
        mt_top_row_put(&row, &flat);
        ck_assert(!mt_top_growth(&row, &rate));
    }
    struct mt_top_sample again = row.last;
    size_t n = row.n_kept;
    mt_top_row_put(&row, &again); /* the file was not written since */
    ck_assert_uint_eq(row.n_kept, n);
}
END_TEST

UNIT_MAIN("top", lines, growth, no_growth)
