/* SPDX-License-Identifier: MIT */
/* The nearest name: at most two edits, and never something that shares nothing. */
#include "cli/options/options.h"
#include "unit.h"

static const char *const NAMES[] = {"stats", "trace", "trace_plot", NULL, "compare", "at", "frag"};

static const char *suggest(const char *word)
{
    return mt_suggest(word, NAMES, MT_COUNT(NAMES));
}

START_TEST(near)
{
    ck_assert_str_eq(suggest("compair"), "compare");
    ck_assert_str_eq(suggest("stast"), "stats"); /* two letters swapped are one edit */
    ck_assert_str_eq(suggest("trace-plt"), "trace_plot");
    ck_assert_str_eq(suggest("STATS"), "stats");
    ck_assert_str_eq(suggest("tracee"), "trace");
    ck_assert_str_eq(suggest("ta"), "at");
}
END_TEST

START_TEST(far)
{
    ck_assert_ptr_null(suggest("segments"));
    ck_assert_ptr_null(suggest("xy"));
    ck_assert_ptr_null(suggest("frxy")); /* two of four letters */
    ck_assert_str_eq(suggest("frat"), "frag");
    ck_assert_ptr_null(suggest(""));
    ck_assert_ptr_null(suggest("a word that is much longer than any name that there is"));
}
END_TEST

UNIT_MAIN("suggest", near, far)
