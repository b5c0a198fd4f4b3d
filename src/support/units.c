/* SPDX-License-Identifier: MIT */
/* Sizes and times as text, and back. Sizes are read with integers only: 64 bits stay exact. */
#include "support/units.h"

#include <inttypes.h>
#include <stdio.h>

#include "support/checked.h"

static const char *const UNIT_NAMES[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

static unsigned auto_unit(uint64_t bytes)
{
    unsigned u = 0;
    while (u + 1 < MT_COUNT(UNIT_NAMES) && bytes >> (10 * (u + 1))) {
        u++;
    }
    /* 1023.999 MiB would print as 1024.00 MiB: say 1.00 GiB */
    if (u && u + 1 < MT_COUNT(UNIT_NAMES) &&
        (double)bytes / (double)(UINT64_C(1) << (10 * u)) >= 1023.995) {
        u++;
    }
    return u;
}

struct mt_size_text mt_size_text(uint64_t bytes, struct mt_size_format format)
{
    struct mt_size_text t;
    unsigned u = format.unit == MT_UNIT_AUTO ? auto_unit(bytes) : (unsigned)format.unit - MT_UNIT_B;
    int n;
    if (u == 0) {
        n = snprintf(t.s, sizeof t.s, "%" PRIu64 " B", bytes);
    } else {
        n = snprintf(t.s, sizeof t.s, "%.2f %s", (double)bytes / (double)(UINT64_C(1) << (10 * u)),
                     UNIT_NAMES[u]);
    }
    if (format.exact && u && n > 0) {
        snprintf(t.s + n, sizeof t.s - (size_t)n, " (%" PRIu64 ")", bytes);
    }
    return t;
}

struct mt_size_text mt_size_delta_text(int64_t bytes, struct mt_size_format format)
{
    uint64_t magnitude = bytes < 0 ? UINT64_C(0) - (uint64_t)bytes : (uint64_t)bytes;
    struct mt_size_text plain = mt_size_text(magnitude, format);
    struct mt_size_text t;
    snprintf(t.s, sizeof t.s, "%s%.*s",
             bytes > 0   ? "+"
             : bytes < 0 ? "-"
                         : "",
             MT_SIZE_TEXT - 2, plain.s);
    return t;
}

struct mt_range_text mt_size_range_text(uint64_t least, uint64_t below,
                                        struct mt_size_format format)
{
    struct mt_size_text low = mt_size_text(least, format), high = mt_size_text(below, format);
    struct mt_range_text t;
    if (strcmp(low.s, high.s) == 0) {
        snprintf(t.s, sizeof t.s, "about %s", low.s);
    } else {
        snprintf(t.s, sizeof t.s, "at least %s, below %s", low.s, high.s);
    }
    return t;
}

struct mt_size_text mt_duration_text(int64_t us)
{
    static const struct {
        double us;
        const char *name;
    } steps[] = {{3600e6, "h"}, {60e6, "min"}, {1e6, "s"}, {1e3, "ms"}};
    struct mt_size_text t;
    double magnitude = us < 0 ? -(double)us : (double)us;
    for (size_t i = 0; i < MT_COUNT(steps); i++) {
        if (magnitude >= steps[i].us) {
            snprintf(t.s, sizeof t.s, "%.2f %s", (double)us / steps[i].us, steps[i].name);
            return t;
        }
    }
    snprintf(t.s, sizeof t.s, "%" PRId64 " us", us);
    return t;
}

struct mt_size_text mt_count_text(uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
    struct mt_size_text t;
    size_t at = 0;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0) {
            t.s[at++] = ',';
        }
        t.s[at++] = digits[i];
    }
    t.s[at] = '\0';
    return t;
}

struct mt_size_text mt_counted_text(uint64_t n, const char *noun)
{
    struct mt_size_text t;
    snprintf(t.s, sizeof t.s, "%.28s %.30s%s", mt_count_text(n).s, noun, n == 1 ? "" : "s");
    return t;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Digits with an optional fraction: value = whole + numerator / denominator. */
struct decimal {
    uint64_t whole;
    uint64_t numerator;
    uint64_t denominator;
};

/* Reads a decimal at *at and moves it; at most nine digits of the fraction count. */
static bool read_decimal(struct mt_str s, size_t *at, struct decimal *d)
{
    size_t i = *at;
    size_t begin = i;
    *d = (struct decimal){0, 0, 1};
    for (; i < s.n && is_digit(s.p[i]); i++) {
        if (mt_mul_overflow(d->whole, 10u, &d->whole) ||
            mt_add_overflow(d->whole, (uint64_t)(s.p[i] - '0'), &d->whole)) {
            return false;
        }
    }
    size_t digits = i - begin;
    if (i < s.n && s.p[i] == '.') {
        for (i++; i < s.n && is_digit(s.p[i]); i++, digits++) {
            if (d->denominator < 1000000000u) {
                d->numerator = d->numerator * 10 + (uint64_t)(s.p[i] - '0');
                d->denominator *= 10;
            }
        }
    }
    *at = i;
    return digits > 0;
}

/* The power of 1024 that a size suffix stands for, or -1. */
static int size_suffix(struct mt_str s)
{
    static const char letters[] = "kmgtpe";
    if (s.n == 0 || (s.n == 1 && lower(s.p[0]) == 'b')) {
        return 0;
    }
    const char *hit = strchr(letters, lower(s.p[0]));
    if (!hit || !*hit) {
        return -1;
    }
    bool rest_ok = s.n == 1 || (s.n == 2 && lower(s.p[1]) == 'b') ||
                   (s.n == 3 && lower(s.p[1]) == 'i' && lower(s.p[2]) == 'b');
    return rest_ok ? (int)(hit - letters) + 1 : -1;
}

bool mt_size_parse(struct mt_str s, uint64_t *bytes)
{
    struct decimal d;
    size_t at = 0;
    if (!read_decimal(s, &at, &d)) {
        return false;
    }
    while (at < s.n && s.p[at] == ' ') {
        at++;
    }
    int power = size_suffix((struct mt_str){s.p + at, s.n - at});
    if (power < 0 || (power == 0 && d.denominator > 1)) {
        return false;
    }
    uint64_t scale = UINT64_C(1) << (10 * power);
    uint64_t whole;
    if (mt_mul_overflow(d.whole, scale, &whole)) {
        return false;
    }
    /* the fraction: numerator/denominator of scale, without leaving 64 bits */
    uint64_t part = (scale / d.denominator) * d.numerator +
                    (scale % d.denominator) * d.numerator / d.denominator;
    return !mt_add_overflow(whole, part, bytes);
}

bool mt_duration_parse(struct mt_str s, int64_t *us)
{
    static const struct {
        struct mt_str suffix;
        uint64_t us;
    } units[] = {{MT_STR_INIT("us"), 1},        {MT_STR_INIT("ms"), 1000},
                 {MT_STR_INIT("s"), 1000000},   {MT_STR_INIT("min"), 60000000u},
                 {MT_STR_INIT("m"), 60000000u}, {MT_STR_INIT("h"), 3600000000u}};
    struct decimal d;
    size_t at = 0;
    if (!read_decimal(s, &at, &d)) {
        return false;
    }
    for (size_t i = 0; i < MT_COUNT(units); i++) {
        uint64_t whole;
        if (mt_str_equal((struct mt_str){s.p + at, s.n - at}, units[i].suffix)) {
            if (mt_mul_overflow(d.whole, units[i].us, &whole) || whole > INT64_MAX / 2) {
                return false;
            }
            *us = (int64_t)(whole + d.numerator * units[i].us / d.denominator);
            return true;
        }
    }
    return false;
}

static int digit_value(char c)
{
    if (is_digit(c)) {
        return c - '0';
    }
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

bool mt_u64_parse(struct mt_str s, uint64_t *n)
{
    uint64_t base = 10;
    uint64_t value = 0;
    size_t i = 0;
    if (s.n > 2 && s.p[0] == '0' && lower(s.p[1]) == 'x') {
        base = 16;
        i = 2;
    }
    if (i == s.n) {
        return false;
    }
    for (; i < s.n; i++) {
        uint64_t digit = (uint64_t)digit_value(s.p[i]);
        if (digit >= base || mt_mul_overflow(value, base, &value) ||
            mt_add_overflow(value, digit, &value)) {
            return false;
        }
    }
    *n = value;
    return true;
}
