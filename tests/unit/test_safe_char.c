/* SPDX-License-Identifier: MIT */
/* The edges of what may reach a terminal. */
#include "support/safe_char.h"

#include "unit.h"

START_TEST(edges)
{
    static const uint32_t SAFE[] = {' ', '~', 0xa0, 0xe9, 0x20ac, 0xfffd, 0x1f525, 0xdffff};
    static const uint32_t UNSAFE[] = {0,      0x1b,   0x1f,   0x7f,   0x80,    0x9f,    0x200b,
                                      0x202e, 0x2069, 0xfeff, 0xe000, 0xe0001, 0x10ffff};
    for (size_t i = 0; i < MT_COUNT(SAFE); i++) {
        ck_assert_msg(mt_char_is_safe(SAFE[i]), "%x", SAFE[i]);
    }
    for (size_t i = 0; i < MT_COUNT(UNSAFE); i++) {
        ck_assert_msg(!mt_char_is_safe(UNSAFE[i]), "%x", UNSAFE[i]);
    }
}
END_TEST

START_TEST(ascii)
{
    ck_assert_uint_eq(mt_str_ascii(MT_STR("")), 0);
    ck_assert_uint_eq(mt_str_ascii(MT_STR(" ~")), 2);
    ck_assert_uint_eq(mt_str_ascii(MT_STR("a\x1f")), 1);
    ck_assert_uint_eq(mt_str_ascii(MT_STR("ab\x7f")), 2);
    ck_assert_uint_eq(mt_str_ascii(MT_STR("\xc3\xa9")), 0);
    ck_assert_uint_eq(mt_str_ascii((struct mt_str){"abc", 2}), 2);
}
END_TEST

UNIT_MAIN("safe_char", edges, ascii)
