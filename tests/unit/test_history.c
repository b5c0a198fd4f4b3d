/* SPDX-License-Identifier: MIT */
/* Histories of runs: reading back what was written, bases, the first bad entry. */
#include "print/history.h"

#include "unit.h"

static struct mt_run_history h;
static struct mt_buf text;
static struct mt_error err;

static void add(const char *commit, uint64_t peak)
{
    struct mt_history_entry e = {.commit = mt_str_from(commit),
                                 .file = MT_STR("a \"b\"\n"),
                                 .peak = peak,
                                 .reserved = 2 * peak,
                                 .frag = 0.25,
                                 .knows_growth = peak > 100,
                                 .bytes_per_step = -7};
    mt_history_line(&text, &e);
}

static void read_back(void)
{
    ck_assert_int_eq(mt_history_read(&h, mt_buf_view(&text), &err), MT_OK);
}

static void teardown(void)
{
    mt_history_release(&h);
    mt_buf_release(&text);
}

static uint64_t base(struct mt_history_rule rule, size_t n)
{
    uint64_t peak = 0;
    ck_assert(mt_history_base(&h, n, &rule, &peak));
    return peak;
}

START_TEST(lines_are_read_back)
{
    add("c1", 100);
    mt_buf_text(&text, " \r\n");
    add("", 101);
    read_back();
    ck_assert_uint_eq(h.v.n, 2);
    ck_assert(mt_str_equal(h.v.v[0].file, MT_STR("a \"b\"\n")));
    ck_assert(!h.v.v[0].knows_growth);
    ck_assert_int_eq(h.v.v[1].bytes_per_step, -7);
    ck_assert_uint_eq(h.v.v[1].reserved, 202);
    ck_assert_uint_eq(h.v.v[1].commit.n, 0);
}
END_TEST

START_TEST(bases)
{
    add("aa", 100);
    add("b", 90);
    add("ab", 140);
    add("c", 110);
    read_back();
    ck_assert_uint_eq(base((struct mt_history_rule){.against = MT_AGAINST_BEST}, 4), 90);
    ck_assert_uint_eq(base((struct mt_history_rule){.against = MT_AGAINST_BEST}, 1), 100);
    ck_assert_uint_eq(base((struct mt_history_rule){.against = MT_AGAINST_MEDIAN}, 4), 105);
    ck_assert_uint_eq(base((struct mt_history_rule){MT_AGAINST_MEDIAN, NULL, 3, 0, 0}, 4), 110);
    ck_assert_uint_eq(base((struct mt_history_rule){MT_AGAINST_COMMIT, "a", 0, 0, 0}, 4), 140);
    uint64_t peak;
    struct mt_history_rule none = {MT_AGAINST_COMMIT, "zz", 0, 0, 0};
    ck_assert(!mt_history_base(&h, 4, &none, &peak));
    none.against = MT_AGAINST_MEDIAN;
    ck_assert(!mt_history_base(&h, 0, &none, &peak));
}
END_TEST

START_TEST(limits)
{
    struct mt_history_rule rule = {.percent = 1, .bytes = 5};
    ck_assert_uint_eq(mt_history_limit(&rule, 1000), 1010);
    ck_assert_uint_eq(mt_history_limit(&rule, 100), 105);
    ck_assert_uint_eq(mt_history_limit(&rule, UINT64_MAX - 1), UINT64_MAX);
}
END_TEST

/* A peak that went away again is not where the growth came in. */
START_TEST(first_bad)
{
    uint64_t peaks[] = {100, 150, 100, 120, 130, 121};
    for (size_t i = 0; i < MT_COUNT(peaks); i++) {
        add("c", peaks[i]);
    }
    read_back();
    ck_assert_uint_eq(mt_history_first_bad(&h, 110), 3);
    ck_assert_uint_eq(mt_history_first_bad(&h, 121), SIZE_MAX);
    ck_assert_uint_eq(mt_history_first_bad(&h, 50), 0);
}
END_TEST

static const char *const broken[] = {"{", "[]", "7", "{\"schema\":\"history/1\"}",
                                     "{\"schema\":\"history/2\",\"peak_requested_bytes\":1}"};

START_TEST(broken_lines)
{
    add("c", 1);
    mt_buf_text(&text, broken[_i]);
    ck_assert_int_eq(mt_history_read(&h, mt_buf_view(&text), &err), MT_FORMAT);
    ck_assert_str_eq(err.text, "line 2 is no entry of a history (schema history/1)");
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("history");
    tcase_add_checked_fixture(t, NULL, teardown);
    tcase_add_test(t, lines_are_read_back);
    tcase_add_test(t, bases);
    tcase_add_test(t, limits);
    tcase_add_test(t, first_bad);
    tcase_add_loop_test(t, broken_lines, 0, (int)MT_COUNT(broken));
    return unit_run_cases("history", t);
}
