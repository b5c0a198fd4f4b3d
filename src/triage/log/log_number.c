/* SPDX-License-Identifier: MIT */
/*
 * Numbers are read in integers: 13.71 GiB is 13 * 2^30 + 71 * 2^30 / 100, so that what was printed
 * with two digits gives the same bytes on every machine.
 */
#include "triage/log/log_number.h"
#include "support/checked.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const struct {
    struct mt_str name;
    unsigned shift;
    bool alone; /* only where no letter follows */
} UNITS[] = {
    {MT_STR_INIT("bytes"), 0, false}, {MT_STR_INIT("byte"), 0, false},
    {MT_STR_INIT("kib"), 10, false},  {MT_STR_INIT("mib"), 20, false},
    {MT_STR_INIT("gib"), 30, false},  {MT_STR_INIT("tib"), 40, false},
    {MT_STR_INIT("mlb"), 20, false},  {MT_STR_INIT("glb"), 30, false}, /* of a picture's text */
    {MT_STR_INIT("m1b"), 20, false},  {MT_STR_INIT("g1b"), 30, false},
    {MT_STR_INIT("kb"), 10, false},   {MT_STR_INIT("mb"), 20, false},
    {MT_STR_INIT("gb"), 30, false},   {MT_STR_INIT("tb"), 40, false},
    {MT_STR_INIT("k"), 10, true},     {MT_STR_INIT("m"), 20, true},
    {MT_STR_INIT("g"), 30, true},     {MT_STR_INIT("t"), 40, true},
    {MT_STR_INIT("b"), 0, true},
};

/* Length of the unit at s; its factor through *shift. */
static size_t unit_at(struct mt_str s, unsigned *shift)
{
    for (size_t i = 0; i < MT_COUNT(UNITS); i++) {
        size_t n = UNITS[i].name.n;
        if (s.n > 0 && s.p[0] == UNITS[i].name.p[0] && mt_str_starts(s, UNITS[i].name) &&
            !(UNITS[i].alone && n < s.n && s.p[n] >= 'a' && s.p[n] <= 'z')) {
            *shift = UNITS[i].shift;
            return n;
        }
    }
    return 0;
}

/* Digits with thousands separators; stops in front of a comma that is none. */
static size_t whole_at(struct mt_str s, uint64_t *value, bool *overflow)
{
    size_t i = 0;
    *value = 0;
    *overflow = false;
    for (; i < s.n; i++) {
        if (s.p[i] == ',' && i > 0 && i + 3 < s.n && is_digit(s.p[i + 1]) && is_digit(s.p[i + 2]) &&
            is_digit(s.p[i + 3]) && (i + 4 >= s.n || !is_digit(s.p[i + 4]))) {
            continue;
        }
        if (!is_digit(s.p[i])) {
            break;
        }
        *overflow |= mt_mul_overflow(*value, 10u, value) ||
                     mt_add_overflow(*value, (uint64_t)(s.p[i] - '0'), value);
    }
    return i;
}

/* Bytes of `scale` / 10^digits parts; six digits are read, more are skipped. */
static uint64_t fraction_bytes(struct mt_str digits, uint64_t scale)
{
    uint64_t part = 0, ten = 1;
    for (size_t i = 0; i < digits.n && i < 6; i++) {
        part = part * 10 + (uint64_t)(digits.p[i] - '0');
        ten *= 10;
    }
    return part * scale / ten; /* at most 10^6 * 2^40 */
}

struct mt_log_size mt_log_size_at(struct mt_str s, uint64_t unit)
{
    struct mt_log_size size = {0};
    uint64_t whole;
    bool overflow;
    size_t i = whole_at(s, &whole, &overflow);
    if (i == 0) {
        return size;
    }
    struct mt_str digits = {s.p + i, 0};
    bool comma = i + 3 < s.n && s.p[i] == ',' && is_digit(s.p[i + 1]) && is_digit(s.p[i + 2]) &&
                 s.p[i + 3] >= 'a' && s.p[i + 3] <= 'z'; /* "78,72gib" of some languages */
    if (i + 1 < s.n && ((s.p[i] == '.' && is_digit(s.p[i + 1])) || comma)) {
        digits.p = s.p + ++i;
        while (i < s.n && is_digit(s.p[i])) {
            digits.n++;
            i++;
        }
    }
    unsigned shift = 0;
    size_t n = unit_at((struct mt_str){s.p + i, s.n - i}, &shift);
    if (n == 0 && unit == MT_UNIT_NONE_ALLOWED) {
        return size;
    }
    uint64_t scale = n ? 1ull << shift : unit;
    size.has_unit = n > 0;
    size.has_fraction = digits.n > 0;
    size.length = i + n;
    if (overflow || mt_mul_overflow(whole, scale, &size.bytes)) {
        size.bytes = UINT64_MAX;
    } else {
        size.bytes = mt_add_sat(size.bytes, fraction_bytes(digits, scale));
    }
    return size;
}

/* The digit of "g1b", as a picture's text has it for "gib". */
static bool is_read_one(struct mt_str s, size_t at)
{
    return at >= 2 && at < s.n && s.p[at - 1] == '1' && s.p[at] == 'b' &&
           (s.p[at - 2] == 'g' || s.p[at - 2] == 'm');
}

struct mt_log_size mt_log_size_before(struct mt_str s, uint64_t unit)
{
    size_t at = s.n;
    while (at > 0 && s.n - at < 5 &&
           ((s.p[at - 1] >= 'a' && s.p[at - 1] <= 'z') || is_read_one(s, at))) {
        at--;
    }
    size_t letters = at;
    while (at > 0 && s.n - at < 40 &&
           (is_digit(s.p[at - 1]) || s.p[at - 1] == '.' || s.p[at - 1] == ',')) {
        at--;
    }
    for (; at < letters; at++) { /* "1,2.00gib": the longest tail that is a size */
        if (is_digit(s.p[at]) && (at == 0 || !is_digit(s.p[at - 1]))) {
            struct mt_log_size size = mt_log_size_at((struct mt_str){s.p + at, s.n - at}, unit);
            if (size.length == s.n - at) {
                return size;
            }
        }
    }
    return (struct mt_log_size){0};
}

int64_t mt_log_integer_at(struct mt_str s, size_t *length)
{
    uint64_t value = 0;
    size_t i = 0;
    for (; i < s.n && is_digit(s.p[i]) && i < 19; i++) {
        value = value * 10 + (uint64_t)(s.p[i] - '0');
    }
    *length = i;
    return i == 0 || value > INT64_MAX ? -1 : (int64_t)value;
}
