/* SPDX-License-Identifier: MIT */
/*
 * The main function of a unit test program:
 *
 *     START_TEST(name) { ... } END_TEST
 *     UNIT_MAIN("units", name, other_name)
 */
#ifndef MEMTOOL_TESTS_UNIT_H
#define MEMTOOL_TESTS_UNIT_H

#include <check.h>
#include <stdlib.h>

#include "support/str.h"

/* Runs cases that have loops, fixtures or a time limit; returns the exit code of main. */
static inline int unit_run_cases(const char *title, TCase *cases)
{
    Suite *suite = suite_create(title);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static inline int unit_run(const char *title, const TTest *const *tests, size_t n)
{
    TCase *cases = tcase_create(title);
    for (size_t i = 0; i < n; i++) {
        tcase_add_test(cases, tests[i]);
    }
    return unit_run_cases(title, cases);
}

#define UNIT_MAIN(title, ...)                                                                      \
    int main(void)                                                                                 \
    {                                                                                              \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
        return unit_run(title, tests, MT_COUNT(tests));                                            \
    }

/* Compares an mt_str with a literal. */
#define ck_assert_text(str, literal)                                                               \
    do {                                                                                           \
        struct mt_str text_ = (str);                                                               \
        ck_assert_msg(mt_str_equal(text_, mt_str_from(literal)), "'%.*s' is not '%s'",             \
                      (int)text_.n, text_.p, literal);                                             \
    } while (0)

#endif
