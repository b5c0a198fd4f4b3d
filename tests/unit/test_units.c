/* SPDX-License-Identifier: MIT */
/* Sizes and times as text and back: every unit, the edges between them, and what is refused. */
#include <inttypes.h>

#include "support/units.h"

#include "unit.h"

static const struct mt_size_format AUTO = {MT_UNIT_AUTO, false};
static const struct mt_size_format EXACT = {MT_UNIT_AUTO, true};

START_TEST(sizes_as_text)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1, "1 B"},
        {1023, "1023 B"},
        {1024, "1.00 KiB"},
        {1536, "1.50 KiB"},
        {1048575, "1.00 MiB"}, /* never "1024.00 KiB" */
        {1073741824, "1.00 GiB"},
        {UINT64_C(1610612736), "1.50 GiB"},
        {UINT64_C(1) << 40, "1.00 TiB"},
        {UINT64_MAX, "16.00 EiB"},
    };
    for (size_t i = 0; i < MT_COUNT(cases); i++) {
        ck_assert_str_eq(mt_size_text(cases[i].bytes, AUTO).s, cases[i].text);
    }
}
END_TEST

START_TEST(sizes_in_a_fixed_unit)
{
    ck_assert_str_eq(mt_size_text(1536, (struct mt_size_format){MT_UNIT_B, false}).s, "1536 B");
    ck_assert_str_eq(mt_size_text(1536, (struct mt_size_format){MT_UNIT_MIB, false}).s, "0.00 MiB");
    ck_assert_str_eq(mt_size_text(1 << 30, (struct mt_size_format){MT_UNIT_MIB, true}).s,
                     "1024.00 MiB (1073741824)");
    ck_assert_str_eq(mt_size_text(5, (struct mt_size_format){MT_UNIT_AUTO, true}).s, "5 B");
}
END_TEST

START_TEST(deltas)
{
    ck_assert_str_eq(mt_size_delta_text(0, AUTO).s, "0 B");
    ck_assert_str_eq(mt_size_delta_text(1024, AUTO).s, "+1.00 KiB");
    ck_assert_str_eq(mt_size_delta_text(-1024, AUTO).s, "-1.00 KiB");
    ck_assert_str_eq(mt_size_delta_text(INT64_MIN, AUTO).s, "-8.00 EiB");
}
END_TEST

START_TEST(ranges)
{
    const uint64_t gib = UINT64_C(1) << 30;
    ck_assert_str_eq(mt_size_range_text(gib, 2 * gib, AUTO).s, "at least 1.00 GiB, below 2.00 GiB");
    ck_assert_str_eq(mt_size_range_text(3 * gib, 3 * gib + 4096, AUTO).s, "about 3.00 GiB");
    ck_assert_str_eq(mt_size_range_text(3 * gib, 3 * gib + 1, EXACT).s,
                     "at least 3.00 GiB (3221225472), below 3.00 GiB (3221225473)");
}
END_TEST

START_TEST(durations_and_counts)
{
    ck_assert_str_eq(mt_duration_text(0).s, "0 us");
    ck_assert_str_eq(mt_duration_text(850).s, "850 us");
    ck_assert_str_eq(mt_duration_text(12300).s, "12.30 ms");
    ck_assert_str_eq(mt_duration_text(-4500000).s, "-4.50 s");
    ck_assert_str_eq(mt_duration_text(INT64_C(7200000000)).s, "2.00 h");
    ck_assert_str_eq(mt_count_text(0).s, "0");
    ck_assert_str_eq(mt_count_text(999).s, "999");
    ck_assert_str_eq(mt_count_text(12345678).s, "12,345,678");
    ck_assert_str_eq(mt_count_text(UINT64_MAX).s, "18,446,744,073,709,551,615");
    ck_assert_str_eq(mt_counted_text(1, "event").s, "1 event");
    ck_assert_str_eq(mt_counted_text(12345, "event").s, "12,345 events");
}
END_TEST

START_TEST(reading_sizes)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},
        {"64", 64},
        {"64B", 64},
        {"64k", 65536},
        {"64KB", 65536},
        {"64KiB", 65536},
        {"64M", 64 << 20},
        {"1.5GiB", UINT64_C(1610612736)},
        {"1.5 GiB", UINT64_C(1610612736)},
        {".5k", 512},
        {"0.1k", 102}, /* fractions are rounded down */
        {"16383P", UINT64_C(16383) << 50},
        {"18446744073709551615", UINT64_MAX},
    };
    static const char *const bad[] = {"",       "x",   "-1",  "1.5.5",  "64Q",
                                      "64MiBs", "1e3", " 1",  "16384P", "18446744073709551616",
                                      "0x10",   ".",   "1.9", "1.5B"};
    uint64_t bytes;
    for (size_t i = 0; i < MT_COUNT(good); i++) {
        ck_assert_msg(mt_size_parse(mt_str_from(good[i].text), &bytes), "%s", good[i].text);
        ck_assert_msg(bytes == good[i].bytes, "%s gives %" PRIu64, good[i].text, bytes);
    }
    for (size_t i = 0; i < MT_COUNT(bad); i++) {
        ck_assert_msg(!mt_size_parse(mt_str_from(bad[i]), &bytes), "'%s' was taken", bad[i]);
    }
}
END_TEST

START_TEST(reading_durations)
{
    int64_t us;
    ck_assert(mt_duration_parse(MT_STR("20us"), &us) && us == 20);
    ck_assert(mt_duration_parse(MT_STR("300ms"), &us) && us == 300000);
    ck_assert(mt_duration_parse(MT_STR("1.5s"), &us) && us == 1500000);
    ck_assert(mt_duration_parse(MT_STR("2m"), &us) && us == 120000000);
    ck_assert(mt_duration_parse(MT_STR("1h"), &us) && us == INT64_C(3600000000));
    ck_assert(!mt_duration_parse(MT_STR("5"), &us));
    ck_assert(!mt_duration_parse(MT_STR("s"), &us));
    ck_assert(!mt_duration_parse(MT_STR("99999999999999h"), &us));
}
END_TEST

START_TEST(reading_numbers)
{
    uint64_t n;
    ck_assert(mt_u64_parse(MT_STR("0"), &n) && n == 0);
    ck_assert(mt_u64_parse(MT_STR("18446744073709551615"), &n) && n == UINT64_MAX);
    ck_assert(mt_u64_parse(MT_STR("0x7fF"), &n) && n == 0x7ff);
    ck_assert(mt_u64_parse(MT_STR("0xffffffffffffffff"), &n) && n == UINT64_MAX);
    ck_assert(!mt_u64_parse(MT_STR(""), &n));
    ck_assert(!mt_u64_parse(MT_STR("0x"), &n));
    ck_assert(!mt_u64_parse(MT_STR("18446744073709551616"), &n));
    ck_assert(!mt_u64_parse(MT_STR("12a"), &n));
    ck_assert(!mt_u64_parse(MT_STR("-1"), &n));
}
END_TEST

UNIT_MAIN("units", sizes_as_text, sizes_in_a_fixed_unit, deltas, ranges, durations_and_counts,
          reading_sizes, reading_durations, reading_numbers)
