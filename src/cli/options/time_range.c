/* SPDX-License-Identifier: MIT */
/*
 * The language of --time: A:B, A: , :B or A+DURATION, where A and B are durations since the
 * device's first event ("1.5s", "300ms") or wall-clock times of ISO 8601 ("2026-03-01T12:00:00.5Z";
 * without a zone UTC is meant, so that a command line means the same on every machine).
 *
 * ISO times hold colons themselves, so a time is read greedily from the left and the separator is
 * what stands behind it.
 */
#include "cli/command.h"
#include "support/checked.h"

static bool two_digits(struct mt_str s, size_t at, int *n)
{
    if (at + 2 > s.n || s.p[at] < '0' || s.p[at] > '9' || s.p[at + 1] < '0' || s.p[at + 1] > '9') {
        return false;
    }
    *n = (s.p[at] - '0') * 10 + (s.p[at + 1] - '0');
    return true;
}

static bool is_at(struct mt_str s, size_t at, const char *set)
{
    return at < s.n && s.p[at] && strchr(set, s.p[at]);
}

static bool digit_at(struct mt_str s, size_t at)
{
    return at < s.n && s.p[at] >= '0' && s.p[at] <= '9';
}

/* Days from 1970-01-01 in the Gregorian calendar: years counted from March put the leap day last.
 */
static int64_t days_from_civil(int64_t y, int64_t m, int64_t d)
{
    y -= m <= 2;
    int64_t day_of_year = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
    return y * 365 + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

/* ":SS" and ".FRACTION" after hh:mm; a ':' with more than two digits behind it separates a range.
 */
static size_t read_seconds(struct mt_str s, size_t at, int64_t *us)
{
    int sec;
    if (!is_at(s, at, ":") || !two_digits(s, at + 1, &sec) || digit_at(s, at + 3)) {
        return at;
    }
    *us += sec * INT64_C(1000000);
    at += 3;
    if (is_at(s, at, ".") && digit_at(s, at + 1)) {
        int64_t scale = 100000;
        for (at++; digit_at(s, at); at++, scale /= 10) {
            *us += (s.p[at] - '0') * scale;
        }
    }
    return at;
}

/* "Z" or "+hh:mm"; a '+' before anything else begins a duration. */
static size_t read_zone(struct mt_str s, size_t at, int64_t *us)
{
    int h, m;
    if (is_at(s, at, "Zz")) {
        return at + 1;
    }
    if (is_at(s, at, "+-") && two_digits(s, at + 1, &h) && is_at(s, at + 3, ":") &&
        two_digits(s, at + 4, &m)) {
        *us -= (s.p[at] == '-' ? -1 : 1) * (h * 60 + m) * INT64_C(60000000);
        return at + 6;
    }
    return at;
}

/* Returns the bytes taken, 0 when s does not begin with a wall-clock time. */
static size_t read_iso(struct mt_str s, int64_t *us)
{
    int century, year, month, day, h, m;
    if (!two_digits(s, 0, &century) || !two_digits(s, 2, &year) || !is_at(s, 4, "-") ||
        !two_digits(s, 5, &month) || !is_at(s, 7, "-") || !two_digits(s, 8, &day) || month < 1 ||
        month > 12 || day < 1 || day > 31) {
        return 0;
    }
    *us = days_from_civil(century * 100 + year, month, day) * INT64_C(86400000000);
    if (!is_at(s, 10, "Tt ") || !two_digits(s, 11, &h) || !is_at(s, 13, ":") ||
        !two_digits(s, 14, &m)) {
        return 10;
    }
    *us += (h * 60 + m) * INT64_C(60000000);
    return read_zone(s, read_seconds(s, 16, us), us);
}

/* Either kind of time; *absolute tells which. Returns the bytes taken, 0 when it is neither. */
static size_t read_time(struct mt_str s, int64_t *us, bool *absolute)
{
    size_t n = read_iso(s, us);
    *absolute = n > 0;
    if (n) {
        return n;
    }
    while (n < s.n && !is_at(s, n, ":+")) {
        n++;
    }
    struct mt_str word = {s.p, n};
    if (mt_str_equal(word, MT_STR("0"))) {
        *us = 0;
        return n;
    }
    return mt_duration_parse(word, us) ? n : 0;
}

static enum mt_status wrong(struct mt_str s, struct mt_error *err)
{
    return mt_fail(err, MT_USAGE, MT_NO_OFFSET,
                   "'%.*s' is not a range of times such as 1.5s:2s, 1.5s+300ms, 300ms: or "
                   "2026-03-01T12:00:00Z+5s",
                   (int)(s.n < 80 ? s.n : 80), s.p);
}

enum mt_status mt_time_range_parse(struct mt_str s, int64_t *min_us, int64_t *max_us,
                                   bool *absolute, struct mt_error *err)
{
    bool end_absolute;
    size_t at = 0;
    *min_us = INT64_MIN;
    *max_us = INT64_MAX;
    *absolute = false;
    if (!is_at(s, 0, ":")) {
        at = read_time(s, min_us, absolute);
    }
    if ((at == 0 && !is_at(s, 0, ":")) || !is_at(s, at, ":+")) {
        return wrong(s, err);
    }
    bool is_length = s.p[at] == '+';
    struct mt_str end = {s.p + at + 1, s.n - at - 1};
    if (end.n == 0) {
        return is_length || at == 0 ? wrong(s, err) : MT_OK;
    }
    if (read_time(end, max_us, &end_absolute) != end.n || (is_length && end_absolute) ||
        (!is_length && at && end_absolute != *absolute)) {
        return wrong(s, err);
    }
    *absolute |= end_absolute;
    if (is_length && mt_add_overflow(*min_us, *max_us, max_us)) {
        return wrong(s, err);
    }
    return *min_us <= *max_us
               ? MT_OK
               : mt_fail(err, MT_USAGE, MT_NO_OFFSET, "the end of the range is before its start");
}
