/* SPDX-License-Identifier: MIT */
/* What may reach a terminal: printable text as it is, everything else as an escape. */
#include <locale.h>

#include "print/report.h"

#include "print.h"
#include "unit.h"

static const char *safe(struct mt_str s)
{
    static struct mt_buf b;
    mt_buf_reset(&b);
    mt_text_safe(&b, s);
    ck_assert(!b.failed);
    return b.p;
}

START_TEST(printable)
{
    ck_assert_str_eq(safe(MT_STR("")), "");
    ck_assert_str_eq(safe(MT_STR("train.py:42 forward")), "train.py:42 forward");
    ck_assert_str_eq(safe(MT_STR("évil 中文 😀 \\")), "évil 中文 😀 \\");
}
END_TEST

START_TEST(controls)
{
    ck_assert_str_eq(safe(MT_STR("\033[31mred\a")), "\\x1b[31mred\\x07");
    ck_assert_str_eq(safe(MT_STR("a\nb\tc\rd\0e\x7f")), "a\\nb\\tc\\rd\\x00e\\x7f");
    ck_assert_str_eq(safe(MT_STR("\xc2\x9b"
                                 "31m")),
                     "\\x9b31m"); /* CSI as one character */
}
END_TEST

START_TEST(direction)
{
    ck_assert_str_eq(safe(MT_STR("a\u202eb\u2066c\u200fd")), "a\\u202eb\\u2066c\\u200fd");
    ck_assert_str_eq(safe(MT_STR("\ufeffx\u2028y")), "\\ufeffx\\u2028y");
    ck_assert_str_eq(safe(MT_STR("\U000e0041")), "\\U000e0041");
}
END_TEST

START_TEST(broken_utf8)
{
    ck_assert_str_eq(safe(MT_STR("\xff")), "\\xff");
    ck_assert_str_eq(safe(MT_STR("a\xc3")), "a\\xc3");         /* cut short */
    ck_assert_str_eq(safe(MT_STR("\xc0\x80")), "\\xc0\\x80");  /* overlong */
    ck_assert_str_eq(safe(MT_STR("\xed\xa0\x80")), "\\ud800"); /* surrogate */
    ck_assert_str_eq(safe(MT_STR("\xed\xb3\xbf")), "\\xff");   /* Python's of a byte */
    ck_assert_str_eq(safe(MT_STR("\xf4\x90\x80\x80")), "\\xf4\\x90\\x80\\x80"); /* > 10ffff */
    ck_assert_str_eq(safe(MT_STR("\x80z")), "\\x80z");
}
END_TEST

START_TEST(widths)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    ck_assert_int_eq(mt_text_width(""), 0);
    ck_assert_int_eq(mt_text_width("abc"), 3);
    ck_assert_int_eq(mt_text_width("é"), 1);
    if (setlocale(LC_CTYPE, "C.UTF-8")) {
        ck_assert_int_eq(mt_text_width("中文"), 4);
    }
}
END_TEST

/* Words stay whole, and blanks at a break are not printed. */
START_TEST(lines)
{
    const char *next;
    ck_assert_uint_eq(mt_text_line("one two  three", 7, &next), 7);
    ck_assert_str_eq(next, "three");
    ck_assert_uint_eq(mt_text_line("one two  three", 14, &next), 14);
    ck_assert_str_eq(next, "");
    ck_assert_uint_eq(mt_text_line("longer than room", 3, &next), 6);
    ck_assert_str_eq(next, "than room");
    ck_assert_uint_eq(mt_text_line("of 12.50 MiB, or", 9, &next), 2);
    ck_assert_str_eq(next, "12.50 MiB, or");
    ck_assert_uint_eq(mt_text_line("12.50 MiB, or", 3, &next), 10);
    ck_assert_uint_eq(mt_text_line("at 5 stacks", 6, &next), 4);
    ck_assert_uint_eq(mt_text_line("", 3, &next), 0);
    ck_assert_str_eq(next, "");
}
END_TEST

START_TEST(a_line_on_a_narrow_terminal)
{
    struct print p;
    print_begin(&p);
    mt_report_line(&p.r, 4, "  %d words are not many", 5);
    p.r.width = 12;
    mt_report_line(&p.r, 4, "  %d words are not many", 5);
    print_end(&p);
    ck_assert_str_eq(p.text, "  5 words are not many\n"
                             "  5 words\n    are not\n    many\n");
    print_free(&p);
}
END_TEST

START_TEST(prose_has_an_end_everywhere)
{
    struct print p;
    print_begin(&p);
    mt_report_prose(&p.r, 2, "%0*d %0*d %s", 60, 1, 38, 2, "more");
    p.r.width = 400;
    mt_report_prose(&p.r, 2, "%0*d %0*d %s", 60, 1, 39, 2, "more");
    p.r.width = 12;
    mt_report_prose(&p.r, 2, "%d words are not many", 5);
    print_end(&p);
    ck_assert_ptr_nonnull(strstr(p.text, "02\n  more\n00"));
    ck_assert_ptr_nonnull(strstr(p.text, "02\n  more\n5 words are\n  not many\n"));
    print_free(&p);
}
END_TEST

START_TEST(lines_keep_their_indent)
{
    struct print p;
    print_begin(&p);
    mt_report_lines(&p.r, "one two three four\n\n  five six seven\nlast");
    fputc('\n', p.r.out);
    p.r.width = 12;
    mt_report_lines(&p.r, "one two three four\n\n  five six seven\n");
    print_end(&p);
    ck_assert_str_eq(p.text, "one two three four\n\n  five six seven\nlast\n"
                             "one two\n    three\n    four\n\n  five six\n      seven\n");
    print_free(&p);
}
END_TEST

START_TEST(colors)
{
    struct mt_report r = {.color = false};
    ck_assert_str_eq(mt_color_begin(&r, MT_COLOR_BAD), "");
    ck_assert_str_eq(mt_color_end(&r), "");
    r.color = true;
    ck_assert_str_eq(mt_color_begin(&r, MT_COLOR_BAD), "\033[31m");
    ck_assert_str_eq(mt_color_end(&r), "\033[0m");
}
END_TEST

UNIT_MAIN("text", printable, controls, direction, broken_utf8, widths, lines,
          a_line_on_a_narrow_terminal, prose_has_an_end_everywhere, lines_keep_their_indent, colors)
