/* SPDX-License-Identifier: MIT */
/* Byte strings with NULs and empty ends, and the growing buffer. */
#include "support/str.h"

#include "unit.h"

START_TEST(comparing)
{
    ck_assert(mt_str_equal(MT_STR(""), (struct mt_str){NULL, 0}));
    ck_assert(mt_str_equal(MT_STR("a\0b"), MT_STR("a\0b")));
    ck_assert(!mt_str_equal(MT_STR("a\0b"), MT_STR("a\0c")));
    ck_assert_int_lt(mt_str_compare(MT_STR("a"), MT_STR("ab")), 0);
    ck_assert_int_gt(mt_str_compare(MT_STR("b"), MT_STR("ab")), 0);
    ck_assert_int_gt(mt_str_compare(MT_STR("\xff"), MT_STR("a")), 0);
    ck_assert_int_eq(mt_str_compare(MT_STR(""), MT_STR("")), 0);
}
END_TEST

START_TEST(searching)
{
    ck_assert(mt_str_starts(MT_STR("train.py"), MT_STR("train")));
    ck_assert(mt_str_starts(MT_STR("x"), MT_STR("")));
    ck_assert(!mt_str_starts(MT_STR("x"), MT_STR("xy")));
    ck_assert(mt_str_ends(MT_STR("train.py"), MT_STR(".py")));
    ck_assert(!mt_str_ends(MT_STR("y"), MT_STR("py")));
    ck_assert_uint_eq(mt_str_find(MT_STR("abcabd"), MT_STR("abd")), 3);
    ck_assert_uint_eq(mt_str_find(MT_STR("abc"), MT_STR("")), 0);
    ck_assert(mt_str_find(MT_STR("ab"), MT_STR("abc")) == SIZE_MAX);
}
END_TEST

START_TEST(base_names)
{
    ck_assert_text(mt_str_basename(MT_STR("/a/b/c.py")), "c.py");
    ck_assert_text(mt_str_basename(MT_STR("C:\\dir\\c.py")), "c.py");
    ck_assert_text(mt_str_basename(MT_STR("c.py")), "c.py");
    ck_assert_text(mt_str_basename(MT_STR("dir/")), "");
    ck_assert_text(mt_str_basename(MT_STR("")), "");
}
END_TEST

START_TEST(growing)
{
    struct mt_buf b = {0};
    ck_assert_text(mt_buf_view(&b), "");
    mt_buf_add(&b, "", 0);
    ck_assert_str_eq(b.p, "");
    for (int i = 0; i < 5000; i++) {
        mt_buf_printf(&b, "%d,", i % 10);
    }
    ck_assert(!b.failed);
    ck_assert_uint_eq(b.n, 10000);
    ck_assert_int_eq(b.p[b.n], '\0');
    ck_assert_int_eq(b.p[9998], '9');
    for (int width = 60; width < 70; width++) { /* about the room that is seen to beforehand */
        struct mt_buf one = {0};
        mt_buf_printf(&one, "%*d", width, 7);
        ck_assert_uint_eq(one.n, (size_t)width);
        ck_assert_uint_eq(strlen(one.p), (size_t)width);
        ck_assert_int_eq(one.p[width - 1], '7');
        mt_buf_release(&one);
    }
    mt_buf_printf(&b, "%20000d", 1); /* more than doubling gives */
    ck_assert_uint_eq(b.n, 30000);
    ck_assert_int_eq(b.p[29999], '1');
    mt_buf_reset(&b);
    mt_buf_char(&b, 'x');
    mt_buf_str(&b, MT_STR("y\0z"));
    mt_buf_text(&b, "w");
    ck_assert_uint_eq(b.n, 5);
    ck_assert_mem_eq(b.p, "xy\0zw", 6);
    mt_buf_release(&b);
    ck_assert_ptr_null(b.p);
}
END_TEST

START_TEST(impossible_size)
{
    struct mt_buf b = {0};
    mt_buf_text(&b, "kept");
    mt_buf_add(&b, "", SIZE_MAX - 2);
    ck_assert(b.failed);
    mt_buf_text(&b, "ignored");
    ck_assert_str_eq(b.p, "kept");
    mt_buf_reset(&b); /* the next row of a table: that one is missing must not be forgotten */
    mt_buf_text(&b, "next row");
    ck_assert(b.failed);
    ck_assert_text(mt_buf_view(&b), "");
    mt_buf_release(&b);
    ck_assert(!b.failed);
}
END_TEST

UNIT_MAIN("str", comparing, searching, base_names, growing, impossible_size)
