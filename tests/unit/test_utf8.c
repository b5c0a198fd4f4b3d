/* SPDX-License-Identifier: MIT */
/* Bytes to code points and back: what is UTF-8, and what Python makes of what is not. */
#include "support/utf8.h"

#include "support/compiler.h"

#include "../support/unit.h"

static const struct {
    struct mt_str bytes;
    size_t strict, any; /* bytes taken */
    uint32_t code;
    struct mt_str back; /* what the code point is as bytes */
} CASES[] = {
    {MT_STR_INIT("a"), 1, 1, 'a', MT_STR_INIT("a")},
    {MT_STR_INIT("\0"), 1, 1, 0, MT_STR_INIT("\0")},
    {MT_STR_INIT("\xc3\xa9"), 2, 2, 0xe9, MT_STR_INIT("\xc3\xa9")},
    {MT_STR_INIT("\xef\xbf\xbf"), 3, 3, 0xffff, MT_STR_INIT("\xef\xbf\xbf")},
    {MT_STR_INIT("\xf4\x8f\xbf\xbf"), 4, 4, 0x10ffff, MT_STR_INIT("\xf4\x8f\xbf\xbf")},
    {MT_STR_INIT("\xed\xa0\x80"), 0, 3, 0xd800, MT_STR_INIT("\xed\xa0\x80")},
    {MT_STR_INIT("\xed\xbf\xbf"), 0, 3, 0xdfff, MT_STR_INIT("\xed\xbf\xbf")},
    {MT_STR_INIT("\xff"), 0, 1, 0xdcff, MT_STR_INIT("\xed\xb3\xbf")},
    {MT_STR_INIT("\x80z"), 0, 1, 0xdc80, MT_STR_INIT("\xed\xb2\x80")},
    {MT_STR_INIT("\xc3"), 0, 1, 0xdcc3, MT_STR_INIT("\xed\xb3\x83")},             /* cut short */
    {MT_STR_INIT("\xe2\x82z"), 0, 1, 0xdce2, MT_STR_INIT("\xed\xb3\xa2")},        /* broken off */
    {MT_STR_INIT("\xc0\x80"), 0, 1, 0xdcc0, MT_STR_INIT("\xed\xb3\x80")},         /* overlong */
    {MT_STR_INIT("\xf4\x90\x80\x80"), 0, 1, 0xdcf4, MT_STR_INIT("\xed\xb3\xb4")}, /* > 10ffff */
};

START_TEST(each_case)
{
    struct mt_buf b = {0};
    uint32_t code = 7;
    ck_assert_uint_eq(mt_utf8_decode(CASES[_i].bytes, &code), CASES[_i].strict);
    ck_assert_uint_eq(code, CASES[_i].strict ? CASES[_i].code : 7);
    ck_assert_uint_eq(mt_utf8_decode_any(CASES[_i].bytes, &code), CASES[_i].any);
    ck_assert_uint_eq(code, CASES[_i].code);
    mt_utf8_add(&b, code);
    ck_assert(mt_str_equal(mt_buf_view(&b), CASES[_i].back));
    ck_assert(mt_utf8_is_python(mt_buf_view(&b)));
    bool kept = mt_str_equal(CASES[_i].bytes, CASES[_i].back);
    ck_assert_int_eq(mt_utf8_is_python(CASES[_i].bytes), kept);
    mt_buf_release(&b);
}
END_TEST

START_TEST(nothing)
{
    uint32_t code;
    ck_assert_uint_eq(mt_utf8_decode((struct mt_str){NULL, 0}, &code), 0);
    ck_assert(mt_utf8_is_python((struct mt_str){NULL, 0}));
    ck_assert(!mt_utf8_is_python(MT_STR("caf\xc3\xa9 \xff")));
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("utf8");
    tcase_add_loop_test(t, each_case, 0, (int)MT_COUNT(CASES));
    tcase_add_test(t, nothing);
    return unit_run_cases("utf8", t);
}
