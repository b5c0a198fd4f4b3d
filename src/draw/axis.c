/* SPDX-License-Identifier: MIT */
/*
 * Round steps. Bytes go by powers of two within each unit (1, 2, 4, 8 ... 512 MiB, 1 GiB), with
 * 5, 10, 20 and 50 where the unit is large enough for people to count in it. Times go by 1, 2, 5
 * and by the divisions of minutes and hours.
 */
#include "draw/axis.h"

#include <math.h>
#include <stdio.h>

#include "support/compiler.h"
#include "support/units.h"

static const double BYTE_STEPS[] = {1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256, 512};
/* Multiples of these are round in the unit of the step only, not in the next one (1,200 MiB). */
static bool is_decimal(double step)
{
    return (step == 5 || step == 10 || step == 20 || step == 50 || step == 100 || step == 200);
}

static const double COUNT_STEPS[] = {1, 2, 5};

static const struct time_unit {
    double us;
    const char *name;
    double steps[12]; /* in this unit, ends with 0 */
} TIME_UNITS[] = {
    {1, "us", {1, 2, 5, 10, 20, 50, 100, 200, 500, 0}},
    {1e3, "ms", {1, 2, 5, 10, 20, 50, 100, 200, 500, 0}},
    {1e6, "s", {1, 2, 5, 10, 15, 20, 30, 0}},
    {60e6, "min", {1, 2, 5, 10, 15, 20, 30, 0}},
    {3600e6, "h", {1, 2, 4, 6, 12, 24, 48, 96, 240, 0}},
};

static void tick_label(char *out, size_t n, double value, const char *unit)
{
    int digits = value == floor(value) ? 0 : value * 10 == floor(value * 10) ? 1 : 2;
    (void)snprintf(out, n, "%.*f%s%s", digits, value, *unit ? " " : "", unit);
}

static double byte_step(double max, size_t want)
{
    for (double unit = 1;; unit *= 1024) {
        for (size_t i = 0; i < MT_COUNT(BYTE_STEPS); i++) {
            bool fits = !is_decimal(BYTE_STEPS[i]) || max < 1024 * unit;
            if (fits && BYTE_STEPS[i] * unit * (double)want >= max) {
                return BYTE_STEPS[i] * unit;
            }
        }
    }
}

void mt_axis_bytes(struct mt_axis *a, double max, size_t want)
{
    static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    max = max > 1 ? max : 1;
    double step = byte_step(max, want);
    a->n = 0;
    for (double v = 0; a->n < MT_AXIS_TICKS; v += step) {
        size_t unit = 0;
        double scaled = v;
        while (scaled >= 1024 && unit + 1 < MT_COUNT(UNITS)) {
            scaled /= 1024;
            unit++;
        }
        struct mt_tick *t = &a->ticks[a->n++];
        t->value = v;
        if (v > 0) {
            tick_label(t->label, sizeof t->label, scaled, UNITS[unit]);
        } else {
            (void)snprintf(t->label, sizeof t->label, "0");
        }
        if (v >= max) {
            break;
        }
    }
    a->max = a->ticks[a->n - 1].value;
}

void mt_axis_counts(struct mt_axis *a, double lo, double hi, size_t want)
{
    double span = hi > lo ? hi - lo : 1, step = 1, power = 1;
    for (size_t i = 0; (step = COUNT_STEPS[i] * power) * (double)want < span;) {
        i = (i + 1) % MT_COUNT(COUNT_STEPS);
        power *= i == 0 ? 10 : 1;
    }
    a->max = hi;
    a->n = 0;
    for (double v = ceil(lo / step) * step; v <= hi && a->n < MT_AXIS_TICKS; v += step) {
        struct mt_tick *t = &a->ticks[a->n++];
        t->value = v;
        (void)snprintf(t->label, sizeof t->label, "%s", mt_count_text((uint64_t)v).s);
    }
}

static double time_step(double span, size_t want, const struct time_unit **unit)
{
    for (size_t u = 0; u < MT_COUNT(TIME_UNITS); u++) {
        *unit = &TIME_UNITS[u];
        for (const double *step = TIME_UNITS[u].steps; *step > 0; step++) {
            if (*step * TIME_UNITS[u].us * (double)want >= span) {
                return *step * TIME_UNITS[u].us;
            }
        }
    }
    return span / (double)want; /* more than a year */
}

void mt_axis_time(struct mt_axis *a, double span_us, size_t want)
{
    const struct time_unit *unit;
    double step = time_step(span_us > 0 ? span_us : 1, want, &unit);
    while (unit + 1 < TIME_UNITS + 3 && span_us >= unit[1].us) {
        unit++; /* up to seconds: 0.5 s, not 500 ms beside a header in seconds */
    }
    a->max = span_us;
    a->n = 0;
    for (size_t i = 0; step * (double)i <= span_us && a->n < MT_AXIS_TICKS; i++) {
        struct mt_tick *t = &a->ticks[a->n++];
        t->value = step * (double)i;
        tick_label(t->label, sizeof t->label, t->value / unit->us, i ? unit->name : "");
    }
}
