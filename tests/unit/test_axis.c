/* SPDX-License-Identifier: MIT */
/* Round numbers. */
#include <string.h>

#include "draw/axis.h"
#include "draw/scene.h"

#include "unit.h"

static void join(const struct mt_axis *a, char *out)
{
    *out = '\0';
    for (size_t i = 0; i < a->n; i++) {
        strcat(strcat(out, i ? "|" : ""), a->ticks[i].label);
    }
}

START_TEST(bytes)
{
    static const struct {
        uint64_t max;
        const char *labels;
    } cases[] = {
        {0, "0|1 B"},
        {3, "0|1 B|2 B|3 B"},
        {UINT64_C(1) << 20, "0|256 KiB|512 KiB|768 KiB|1 MiB"},
        {UINT64_C(2200) << 20, "0|512 MiB|1 GiB|1.5 GiB|2 GiB|2.5 GiB"},
        {UINT64_C(400) << 20, "0|64 MiB|128 MiB|192 MiB|256 MiB|320 MiB|384 MiB|448 MiB"},
        {UINT64_C(80) << 30, "0|16 GiB|32 GiB|48 GiB|64 GiB|80 GiB"},
    };
    for (size_t i = 0; i < MT_COUNT(cases); i++) {
        struct mt_axis a;
        char text[1024];
        mt_axis_bytes(&a, (double)cases[i].max, 7);
        join(&a, text);
        ck_assert_str_eq(text, cases[i].labels);
        ck_assert_double_ge(a.max, (double)cases[i].max);
    }
}
END_TEST

START_TEST(bytes_of_all_sizes)
{
    for (double max = 1; max < 0x1p70; max = max * 3 + 1) {
        struct mt_axis a;
        mt_axis_bytes(&a, max, 7);
        ck_assert_uint_ge(a.n, 2);
        ck_assert_uint_le(a.n, 8);
    }
}
END_TEST

START_TEST(counts_and_times)
{
    struct mt_axis a;
    char text[1024];
    mt_axis_counts(&a, 0, 1994000, 8);
    join(&a, text);
    ck_assert_str_eq(text, "0|500,000|1,000,000|1,500,000");
    mt_axis_counts(&a, 995, 1031, 8);
    join(&a, text);
    ck_assert_str_eq(text, "995|1,000|1,005|1,010|1,015|1,020|1,025|1,030");
    mt_axis_time(&a, 4.7e6, 8);
    join(&a, text);
    ck_assert_str_eq(text, "0|1 s|2 s|3 s|4 s");
    mt_axis_time(&a, 100 * 60e6, 8);
    join(&a, text);
    ck_assert_str_eq(text, "0|15 min|30 min|45 min|60 min|75 min|90 min");
    mt_axis_time(&a, 250e3, 8);
    join(&a, text);
    ck_assert_str_eq(text, "0|50 ms|100 ms|150 ms|200 ms|250 ms");
    mt_axis_time(&a, 1e18, 8);
    ck_assert_uint_le(a.n, 9);
}
END_TEST

START_TEST(text_is_cut)
{
    struct mt_buf b = {0};
    double whole = mt_text_px("forward", 12, false);
    mt_text_cut(&b, "forward", 12, false, whole);
    ck_assert_str_eq(b.p, "forward");
    mt_buf_reset(&b);
    mt_text_cut(&b, "forward", 12, false, whole - 1);
    ck_assert(mt_text_px(b.p, 12, false) <= whole - 1);
    ck_assert(mt_str_ends(mt_buf_view(&b), MT_STR("\xe2\x80\xa6")));
    mt_buf_reset(&b);
    mt_text_cut(&b, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 10, false,
                30); /* never inside a character */
    ck_assert_str_eq(b.p, "\xc3\xa9\xc3\xa9\xe2\x80\xa6");
    ck_assert(mt_text_px("x", 12, true) > mt_text_px("x", 12, false));
    mt_buf_release(&b);
}
END_TEST

START_TEST(utf8)
{
    uint32_t code;
    ck_assert_uint_eq(mt_utf8_next("\xe2\x82\xac", 3, &code), 3);
    ck_assert_uint_eq(code, 0x20ac);
    ck_assert_uint_eq(mt_utf8_next("\xe2\x82", 2, &code), 1);
    ck_assert_uint_eq(code, 0xfffd);
    ck_assert_uint_eq(mt_utf8_next("\xc0\x80", 2, &code), 1); /* overlong */
    ck_assert_uint_eq(code, 0xfffd);
    ck_assert_uint_eq(mt_utf8_next("\xed\xa0\x80", 3, &code), 1); /* surrogate */
    ck_assert_uint_eq(code, 0xfffd);
}
END_TEST

UNIT_MAIN("axis", bytes, bytes_of_all_sizes, counts_and_times, text_is_cut, utf8)
