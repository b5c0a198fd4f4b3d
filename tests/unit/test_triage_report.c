/* SPDX-License-Identifier: MIT */
/* A triage on a narrow screen: each verdict keeps its reason, what is left out is counted. */
#include <stdio.h>

#include "verbs/explain/explain.h"
#include "verbs/triage/print.h"

#include "unit.h"

static char text[16384];

/* What is printed for 12 reasons of which the first and the tenth are those of verdicts. */
static void print(int width, int verbose)
{
    struct mt_str reasons[12];
    for (size_t i = 0; i < MT_COUNT(reasons); i++) {
        reasons[i] = MT_STR("A reason that is long enough to take two lines on any screen, however "
                            "wide it may be, for it goes on and on.");
    }
    reasons[0] = MT_STR("The first verdict.");
    reasons[9] = MT_STR("The verdict beside it.");
    struct mt_triage_shot shot = {.file = "x.pickle"};
    struct mt_triage_result x = {.verdict = MT_VERDICT_LEAK,
                                 .headline = "It leaks.",
                                 .cause = SIZE_MAX,
                                 .n_incidents = 1,
                                 .evidence = reasons,
                                 .n_evidence = MT_COUNT(reasons),
                                 .rules_said = 1u | 1u << 9,
                                 .shots = &shot,
                                 .n_shots = 1};
    struct mt_incident none = {.file = ""};
    struct mt_error err;
    x.incidents = &none;
    x.cause = verbose ? 0 : SIZE_MAX;
    memset(text, 0, sizeof text);
    FILE *out = fmemopen(text, sizeof text - 1, "w");
    struct mt_report r = {.out = out, .width = width, .verbose = verbose, .file = "x.log"};
    none.framework = none.format = none.backend = none.program = "";
    none.rank = none.device = -1;
    ck_assert_int_eq(mt_report_triage_text(&r, &x, &err), MT_OK);
    fclose(out);
}

static int reasons_shown(void)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, "A reason")) != NULL; at++) {
        n++;
    }
    return n;
}

START_TEST(nothing_is_lost_in_silence)
{
    static const int WIDTHS[] = {40, 80, 100};
    for (size_t i = 0; i < MT_COUNT(WIDTHS); i++) {
        char last[40];
        print(WIDTHS[i], 0);
        ck_assert_ptr_nonnull(strstr(text, "The first verdict."));
        ck_assert_ptr_nonnull(strstr(text, "The verdict beside it."));
        ck_assert_int_lt(reasons_shown(), 10);
        snprintf(last, sizeof last, " %d more reasons: -v\n", 10 - reasons_shown());
        ck_assert_msg(strstr(text, last) != NULL, "%s in %s", last, text);
    }
}
END_TEST

START_TEST(all_is_shown_when_asked_for)
{
    print(80, 1);
    ck_assert_int_eq(reasons_shown(), 10);
    ck_assert_ptr_null(strstr(text, "more reason"));
}
END_TEST

/* The words in which it answers are in the glossary. */
START_TEST(verdicts_are_explained)
{
    for (unsigned v = 0; v < MT_VERDICT_COUNT; v++) {
        const char *id = mt_verdict_id((enum mt_verdict)v);
        ck_assert_msg(mt_topic_find(id) != NULL, "%s", id);
    }
}
END_TEST

UNIT_MAIN("triage_report", verdicts_are_explained, nothing_is_lost_in_silence,
          all_is_shown_when_asked_for)
