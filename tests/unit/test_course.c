/* SPDX-License-Identifier: MIT */
/* How the memory of one process went over several moments, and which files are moments of one. */
#include "heap/sums/course.h"

#include <string.h>

#include "cli/course_input.h"
#include "heap/sums/logged.h"
#include "unit.h"

static struct mt_course course_of(const uint64_t *live, size_t n, size_t least)
{
    struct mt_course c;
    mt_course_init(&c, 1);
    c.least = least;
    for (size_t i = 0; i < n; i++) {
        struct mt_course_point p = {.file = "x", .us = MT_NO_TIME, .step = -1, .live = live[i]};
        ck_assert(mt_vec_push(&c.points, p));
    }
    mt_course_conclude(&c, 1000000);
    return c;
}

#define M *UINT64_C(1000000)

START_TEST(verdicts)
{
    static const struct {
        uint64_t live[10];
        size_t n;
        enum mt_course_verdict verdict;
    } CASES[] = {
        {{10 M, 20 M, 30 M}, 3, MT_COURSE_LEAK},
        {{10 M, 20 M}, 2, MT_COURSE_UNKNOWN},
        {{10 M, 10 M, 10 M}, 3, MT_COURSE_NO_LEAK},
        {{30 M, 20 M, 10 M}, 3, MT_COURSE_NO_LEAK},
        {{10 M, 11 M - 1, 12 M - 1}, 3, MT_COURSE_NO_LEAK}, /* below the line */
        {{10 M, 90 M, 20 M, 95 M, 30 M}, 5, MT_COURSE_UNKNOWN},
        {{10 M, 60 M, 80 M, 80 M, 80 M, 80 M}, 6, MT_COURSE_NO_LEAK}, /* filled, then stayed */
        {{10 M, 20 M, 30 M, 40 M, 50 M, 60 M, 70 M, 80 M, 90 M, 89 M}, 10, MT_COURSE_LEAK},
    };
    for (size_t i = 0; i < MT_COUNT(CASES); i++) {
        struct mt_course c = course_of(CASES[i].live, CASES[i].n, MT_COURSE_FILES);
        ck_assert_msg(c.verdict == CASES[i].verdict, "case %zu: %d", i, c.verdict);
        mt_course_release(&c);
    }
}
END_TEST

START_TEST(slopes_and_since)
{
    static const uint64_t LIVE[] = {50 M, 20 M, 30 M, 50 M, 110 M};
    struct mt_course c = course_of(LIVE, MT_COUNT(LIVE), MT_COURSE_PRINTS);
    ck_assert_int_eq(c.live_step, 15000000);
    ck_assert_uint_eq(c.since, 1);
    mt_course_release(&c);
}
END_TEST

static struct mt_courses courses_of(const char *log)
{
    struct mt_logged l;
    struct mt_courses all;
    struct mt_error err;
    ck_assert_int_eq(mt_logged_find(&l, mt_str_from(log), &err), MT_OK);
    ck_assert_int_eq(mt_courses_find(&all, &l, "log", 1000000, &err), MT_OK);
    mt_logged_release(&l);
    return all;
}

/* Ranks are kept apart, the worst comes first, and growth is by the steps that the lines name. */
START_TEST(ranks_of_one_log)
{
    struct mt_buf log = {0};
    for (int i = 1; i <= 5; i++) {
        mt_buf_printf(&log,
                      "[rank0]: step %d {'allocated_bytes.all.current': 7000000, "
                      "'reserved_bytes.all.current': 9000000}\n",
                      10 * i);
        mt_buf_printf(&log,
                      "[rank1]: step %d {'allocated_bytes.all.current': %d0000000, "
                      "'reserved_bytes.all.current': 90000000}\n",
                      2 * i, i);
    }
    struct mt_courses all = courses_of(mt_buf_view(&log).p);
    ck_assert_uint_eq(all.v.n, 2);
    ck_assert_int_eq(all.v.v[0].rank, 1);
    ck_assert(all.v.v[0].by_step && all.v.v[0].verdict == MT_COURSE_LEAK);
    ck_assert_int_eq(all.v.v[0].live_step, 5000000);
    ck_assert(all.v.v[1].verdict == MT_COURSE_NO_LEAK);
    mt_courses_release(&all);
    mt_buf_release(&log);
}
END_TEST

START_TEST(names_of_one_process)
{
    static const struct {
        const char *names[3];
        enum mt_course_told told;
    } CASES[] = {
        {{"it100.json", "it0.json", "it20.json"}, MT_COURSE_TOLD_MOMENT},
        {{"a/step_3.pickle", "a/step_1.pickle", "a/step_2.pickle"}, MT_COURSE_TOLD_MOMENT},
        {{"iteration_2/rank0.pickle", "iteration_1/rank0.pickle", "iteration_9/rank0.pickle"},
         MT_COURSE_TOLD_MOMENT},
        {{"mem_pid7_3.pickle", "mem_pid7_1.pickle", "mem_pid7_2.pickle"}, MT_COURSE_TOLD_PROCESS},
        {{"rank0_0101.json", "rank0_0102.json", "rank0_0103.json"}, MT_COURSE_TOLD_PROCESS},
        {{"rank0.json", "rank1.json", "rank2.json"}, MT_COURSE_TOLD_NO},
        {{"it1_rank0.json", "it1_rank1.json", "it2_rank0.json"}, MT_COURSE_TOLD_NO},
        {{"batch_2.json", "batch_4.json", "batch_8.json"}, MT_COURSE_TOLD_NO},
        {{"limit2.json", "limit4.json", "limit8.json"}, MT_COURSE_TOLD_NO},
        {{"step_1.json", "step_2.json", "other_3.json"}, MT_COURSE_TOLD_NO},
        {{"step_1.json", "step_1.json", "step_1.json"}, MT_COURSE_TOLD_NO},
        {{"a.json", "b.json", "c.json"}, MT_COURSE_TOLD_NO},
        {{"step_99999999999999999999.json", "step_1.json", "step_2.json"}, MT_COURSE_TOLD_NO},
    };
    for (size_t i = 0; i < MT_COUNT(CASES); i++) {
        char text[3][64];
        char *files[3];
        for (size_t k = 0; k < 3; k++) {
            files[k] = strcpy(text[k], CASES[i].names[k]);
        }
        enum mt_course_told told = mt_course_names(files, 3);
        ck_assert_msg(told == CASES[i].told, "%s: %d", CASES[i].names[0], told);
        if (i == 0) {
            ck_assert_str_eq(files[0], "it0.json");
            ck_assert_str_eq(files[2], "it100.json");
        }
    }
    char first[] = "it1.json", second[] = "it2.json";
    char *two[] = {first, second};
    ck_assert(mt_course_names(two, 2) == MT_COURSE_TOLD_NO);
}
END_TEST

UNIT_MAIN("course", verdicts, slopes_and_since, ranks_of_one_log, names_of_one_process)
