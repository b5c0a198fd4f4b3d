/* SPDX-License-Identifier: MIT */
/* The language of --time. */
#include <inttypes.h>

#include "cli/command.h"
#include "unit.h"

#define S INT64_C(1000000)
#define NOON (INT64_C(1772366400) * S) /* 2026-03-01T12:00:00Z */

START_TEST(good)
{
    static const struct {
        const char *text;
        int64_t min, max;
        bool absolute;
    } cases[] = {
        {"1.5s:2s", 1500000, 2 * S, false},
        {"1.5s+300ms", 1500000, 1800000, false},
        {"0:5s", 0, 5 * S, false},
        {"300ms:", 300000, INT64_MAX, false},
        {":20us", INT64_MIN, 20, false},
        {"2026-03-01T12:00:00Z:2026-03-01T12:00:05Z", NOON, NOON + 5 * S, true},
        {"2026-03-01T12:00:2026-03-01T12:01", NOON, NOON + 60 * S, true},
        {"2026-03-01 12:00:00.25Z+1s", NOON + 250000, NOON + 1250000, true},
        {"2026-03-01T14:00:00+02:00+5s", NOON, NOON + 5 * S, true},
        {"2026-03-01T07:00:00-05:00:", NOON, INT64_MAX, true},
        {":2026-03-01T12:00:00Z", INT64_MIN, NOON, true},
        {"2026-03-01:2026-03-02", NOON - 43200 * S, NOON + 43200 * S, true},
        {"1970-01-01T00:00:00Z:", 0, INT64_MAX, true},
        {"2024-02-29:2024-03-01", INT64_C(1709164800) * S, INT64_C(1709251200) * S, true},
    };
    for (size_t i = 0; i < MT_COUNT(cases); i++) {
        int64_t min, max;
        bool absolute;
        struct mt_error err;
        enum mt_status status =
            mt_time_range_parse(mt_str_from(cases[i].text), &min, &max, &absolute, &err);
        ck_assert_msg(status == MT_OK, "%s: %s", cases[i].text, err.text);
        ck_assert_msg(min == cases[i].min && max == cases[i].max && absolute == cases[i].absolute,
                      "%s: %" PRId64 " to %" PRId64, cases[i].text, min, max);
    }
}
END_TEST

START_TEST(bad)
{
    static const char *const cases[] = {"",
                                        ":",
                                        "5",
                                        "5:6",
                                        "1s",
                                        "1s+",
                                        "+1s",
                                        "2s:1s",
                                        "1s:x",
                                        "1s:2s:3s",
                                        "x:1s",
                                        "1s+2026-03-01",
                                        "1s:2026-03-01",
                                        "2026-13-01:",
                                        "2026-03-01T12:00:00Z:5s",
                                        "1s:2sx"};
    for (size_t i = 0; i < MT_COUNT(cases); i++) {
        int64_t min, max;
        bool absolute;
        struct mt_error err;
        ck_assert_msg(mt_time_range_parse(mt_str_from(cases[i]), &min, &max, &absolute, &err) ==
                          MT_USAGE,
                      "'%s' was taken", cases[i]);
    }
}
END_TEST

UNIT_MAIN("time_range", good, bad)
