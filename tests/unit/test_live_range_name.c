/* SPDX-License-Identifier: MIT */
/* Names of ranges: whatever comes, UTF-8 of at most 50 bytes. */
#include "unit.h"

#include <string.h>

#include "live/core/range_name.h"

#define FIFTY "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

START_TEST(bytes)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {NULL, "?"},
        {"", "?"},
        {"step 1", "step 1"},
        {"caf\u00e9 \u2192 \U0001f600", "caf\u00e9 \u2192 \U0001f600"},
        {"caf\xe9", "caf\ufffd"},
        {"\xc3", "\ufffd"},
        {"\x80\xbf", "\ufffd\ufffd"},
        {"\xc0\xaf", "\ufffd\ufffd"},                     /* not the shortest form */
        {"\xe0\x80\xaf", "\ufffd\ufffd\ufffd"},           /* nor this */
        {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},           /* half a pair */
        {"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"}, /* beyond Unicode */
        {"\xf5z", "\ufffdz"},
        {"\xf0\x9f\x98", "\ufffd\ufffd\ufffd"}, /* cut short */
        {FIFTY, FIFTY},
        {FIFTY "b", FIFTY},
    };
    for (size_t i = 0; i < MT_COUNT(cases); i++) {
        ck_assert_str_eq(mt_range_name_bytes(cases[i].in).text, cases[i].out);
    }
}
END_TEST

/* A character that does not fit whole ends the name, also when shorter ones follow. */
START_TEST(cut)
{
    char in[64], out[64];
    for (size_t n = 44; n <= 50; n++) {
        memset(in, 'a', n);
        memcpy(in + n, "\u2192b", sizeof "\u2192b");
        memcpy(out, in, sizeof in);
        out[n <= 46 ? n + 4 : n <= 47 ? n + 3 : n] = '\0';
        ck_assert_str_eq(mt_range_name_bytes(in).text, out);
    }
}
END_TEST

START_TEST(wide)
{
    const wchar_t odd[] = {0xd800, 0x110000, -1, L'z', 0};
    ck_assert_str_eq(mt_range_name_wide(NULL).text, "?");
    ck_assert_str_eq(mt_range_name_wide(L"").text, "?");
    ck_assert_str_eq(mt_range_name_wide(L"a\u00e9\u2192\U0001f600").text,
                     "a\u00e9\u2192\U0001f600");
    ck_assert_str_eq(mt_range_name_wide(L"\u07ff\u0800\uffff\U00010000\U0010ffff").text,
                     "\u07ff\u0800\uffff\U00010000\U0010ffff");
    ck_assert_str_eq(mt_range_name_wide(odd).text, "\ufffd\ufffd\ufffdz");
    ck_assert_str_eq(mt_range_name_wide(L"" FIFTY L"b").text, FIFTY);
}
END_TEST

UNIT_MAIN("live: names of ranges", bytes, cut, wide)
