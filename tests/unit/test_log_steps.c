/* SPDX-License-Identifier: MIT */
/* Step prints: what is a leak and what is not. */
#include <stdio.h>

#include "triage/log/log_lines.h"
#include "triage/log/log_steps.h"

#include "unit.h"

#define MIB ((uint64_t)1 << 20)

/* Memory of step i in MiB. */
typedef double (*curve)(int i, int n);

/* Lines "BEFORE step BETWEEN memory AFTER". */
static struct mt_series run(curve f, int n, const char *before, const char *between,
                            const char *after)
{
    struct mt_steps steps = {0};
    struct mt_buf tight = {0};
    char text[128];
    for (int i = 0; i < n; i++) {
        (void)snprintf(text, sizeof text, "%s%d%s%.2f%s", before, i, between, f(i, n), after);
        mt_buf_reset(&tight);
        mt_log_squeeze(&tight, mt_str_from(text));
        struct mt_str line = mt_buf_view(&tight);
        for (size_t p = 0; p < MT_STEP_PHRASES_N; p++) { /* the longest stands first in the table */
            size_t at = mt_str_find(line, MT_STEP_PHRASES[p].phrase);
            if (at != SIZE_MAX) {
                steps.step_known = false; /* a new line */
                ck_assert(mt_steps_take(&steps, line, at, p, (uint64_t)i + 1, 0));
                break;
            }
        }
    }
    mt_steps_finish(&steps);
    ck_assert_uint_eq(steps.tracks.n, 1);
    struct mt_series s = steps.tracks.v[0].series;
    mt_steps_release(&steps);
    mt_buf_release(&tight);
    return s;
}

static double rising(int i, int n)
{
    (void)n;
    return 5000 + 20.0 * i + (i % 3) * 2;
}

static double flat(int i, int n)
{
    (void)n;
    return 5000 + (i * 7919 % 100);
}

static double warm_up(int i, int n)
{
    (void)n;
    return i < 10 ? 1000 + 400.0 * i : 5000;
}

static double one_large_step(int i, int n)
{
    return i > n / 2 ? 8576 : 5472;
}

static double falling(int i, int n)
{
    (void)n;
    return 20000 - 25.0 * i;
}

static double slow(int i, int n)
{
    (void)n;
    return 5000 + 0.05 * i;
}

static double steady(int i, int n)
{
    (void)n;
    return 4096 + 1536.0 * i;
}

static double steady_free(int i, int n)
{
    (void)n;
    return 20000 - 1536.0 * i;
}

static double three_quarters_at_once(int i, int n)
{
    return 4096 + 100.0 * i + (i == n - 1 ? 900 : 0);
}

static double one_step_back(int i, int n)
{
    return steady(i == 2 ? 1 : i, n);
}

START_TEST(a_leak)
{
    struct mt_series s = run(rising, 200, "step ", "/1000 loss 2.0 memory: ", " MB");
    ck_assert(s.is_leak);
    ck_assert_double_eq_tol(s.bytes_per_step, 20.0 * (double)MIB, 1e5);
    ck_assert_int_eq(s.last_step, 199);
    /* so long that samples were thinned */
    ck_assert(run(rising, 9000, "iter ", ": max mem: ", "").is_leak);
    /* free memory that falls */
    ck_assert(run(falling, 100, "step=", " Free GPU ram: ", "").is_leak);
}
END_TEST

/* Four or five prints are a leak where each is higher than the one before by about as much. */
START_TEST(few_prints)
{
    struct mt_series s = run(steady, 5, "step ", ": loss 2.1 | memory allocated: ", " MiB");
    ck_assert(s.is_leak);
    ck_assert_double_eq_tol(s.bytes_per_step, 1536.0 * (double)MIB, 1);
    ck_assert_double_eq_tol(s.rising, 1, 1e-9);
    ck_assert(run(steady, 4, "step ", " memory: ", " MB").is_leak);
    ck_assert(run(steady_free, 4, "step=", " Free GPU ram: ", "").is_leak);
    ck_assert(!run(steady, 3, "step ", " memory: ", " MB").is_leak);
    ck_assert(!run(steady, 5, "step ", " memory_reserved: ", " MB").is_leak);
    ck_assert(!run(three_quarters_at_once, 5, "step ", " memory: ", " MB").is_leak);
    ck_assert(!run(one_step_back, 5, "step ", " memory: ", " MB").is_leak);
}
END_TEST

START_TEST(no_leak)
{
    ck_assert(!run(flat, 300, "step ", " memory: ", " MB").is_leak);
    ck_assert(!run(warm_up, 100, "step ", " memory: ", " MB").is_leak);
    ck_assert(!run(one_large_step, 100, "step ", " memory: ", " MB").is_leak);
    ck_assert(!run(slow, 400, "step ", " memory: ", " MB").is_leak);
    ck_assert(!run(rising, 5, "step ", " memory: ", " MB").is_leak); /* 2 % in all */
    ck_assert(!run(rising, 100, "step ", " memory_reserved: ", " MB").is_leak);
}
END_TEST

START_TEST(one_jump)
{
    struct mt_series s = run(one_large_step, 40, "[", "/40] memory: ", " MB");
    ck_assert_uint_eq(s.jump, 3104 * MIB);
    ck_assert_int_eq(s.jump_step, 21);
}
END_TEST

START_TEST(step_numbers)
{
    ck_assert_int_eq(mt_step_number(MT_STR("iter3436step53:loss")), 53);
    ck_assert_int_eq(mt_step_number(MT_STR("epoch[1][50/1000]")), 50);
    ck_assert_int_eq(mt_step_number(MT_STR("(after2iterations)")), 2);
    ck_assert_int_eq(mt_step_number(MT_STR("test,275/1266,0.0003")), 275);
    ck_assert_int_eq(mt_step_number(MT_STR("2022/03/04nothing")), -1);
    ck_assert_int_eq(mt_step_number(MT_STR("")), -1);
}
END_TEST

START_TEST(epochs_count_on)
{
    struct mt_steps steps = {0};
    struct mt_str line[] = {MT_STR("step9memory:1gb"), MT_STR("step0memory:1gb")};
    size_t which = 0;
    while (mt_str_find(line[0], MT_STEP_PHRASES[which].phrase) == SIZE_MAX) {
        which++;
    }
    for (int i = 0; i < 2; i++) {
        size_t at = mt_str_find(line[i], MT_STEP_PHRASES[which].phrase);
        steps.step_known = false;
        ck_assert(mt_steps_take(&steps, line[i], at, which, 1, 0));
    }
    ck_assert_int_eq(steps.tracks.v[0].series.last_step, 10);
    ck_assert_uint_eq(steps.tracks.v[0].series.last, 1024 * MIB);
    mt_steps_release(&steps);
}
END_TEST

UNIT_MAIN("log_steps", a_leak, few_prints, no_leak, one_jump, step_numbers, epochs_count_on)
