/* SPDX-License-Identifier: MIT */
/* Each row of the rule table: numbers for which it is the verdict, and others for which it is not.
 * Sizes in GiB; -1: not printed. */
#include "triage/log/log_formats.h"
#include "triage/rules/rules.h"

#include "unit.h"

struct rule_case {
    const char *rule; /* the primary rule that must hold */
    double total, free, requested, allocated, reserved, process, allowed, outside;
};

#define NO (-1.0)

static const struct rule_case CASES[] = {
    /* rule, T, F, N, A, R, P, L, X */
    {"beyond-card", 8, 1, 10.7, 6, 6.5, NO, NO, NO},
    {"beyond-limit", 8, 6.7, 7, 0.2, 0.2, NO, 6.8, NO},
    {"half-card", 8, 2.4, 4.5, 4.7, 4.73, NO, NO, NO},
    {"hardly-any-card", NO, NO, 141, NO, NO, NO, NO, NO},
    {"limit-reached", 79.2, 2.1, 0.25, 74.2, 75.15, 77.1, 75.23, NO},
    {"limit-near", NO, NO, 0.1, 1.95, NO, NO, 2, NO},
    {"free-exceeds", 24, 15.6, 4, 6.2, 6.7, NO, NO, NO},
    {"free-implied", 16, NO, 5, 2.4, 2.5, NO, NO, NO},
    {"holes-far-larger", 14.8, 0.02, 2.9, 8.8, 13.7, NO, NO, NO},
    {"holes-larger", 61, 1.3, 5, 49.5, 57.5, NO, NO, NO},
    {"holes-and-free", 24, 2, 4, 11, 14.5, 15.3, NO, NO},
    {"others-main", 80, 0.5, 2, 30, 31, 32, NO, NO},
    {"others-unseen", 22.4, 0.01, 0.02, 15.9, 16.6, NO, NO, NO},
    {"outside-main", 80, 0.5, 2, 40, 41, 79, NO, NO},
    {"outside-main", 32, NO, 0.1, 7.4, NO, NO, NO, 24.5}, /* MPS: other allocations */
    {"live-at-card", 80, 0.3, 0.9, 76, 76.5, 79, NO, NO},
    {"live-near-card", 8, 0.06, 0.13, 6.2, 6.2, NO, NO, NO},
    {"live-and-request", 40, 3, 14, 28, 30, 36, NO, NO},
    {"live-and-free", NO, 2.8, 3.6, 21.2, NO, NO, NO, NO},
    {"card-full", 44.5, 0.0005, 0.002, NO, NO, NO, NO, NO},
    {"fallback-live", 24, 0.1, 0.2, 17, 17.2, 20, NO, NO},
    {"fallback-holes", 24, 0.1, 1.8, 15, 17, 20.5, NO, NO},
    {"no-numbers", NO, NO, 5, NO, NO, NO, NO, NO},
    {"no-numbers", NO, NO, NO, NO, NO, NO, NO, NO},
    /* at the border of others */
    {"live-near-card", 44.4, 4.2, 4.19, 40.5, 40.6, 40.2, NO, NO}, /* free by a hair */
    {"live-near-card", 80, 0.3, 0.6, 76, 77, 79, NO, NO},          /* holes would make up for it */
    {"live-near-card", 15.8, 0.5, 0.53, 13.7, 14.45, 15.3, NO,
     NO},                                                   /* 5 % of holes decide nothing */
    {"live-at-card", 80, 0.3, 0.6, 78, 78.2, 79.5, 80, NO}, /* a limit at the card's size is none */
};

static void put(struct mt_incident *i, enum mt_oom_field f, double gib)
{
    if (gib >= 0) {
        mt_oom_set(&i->numbers, f, (uint64_t)(gib * 1073741824.0));
    }
}

static struct mt_incident incident_of(const struct rule_case *c)
{
    struct mt_incident i = {.kind = MT_KIND_OOM,
                            .format = "torch-2.5+",
                            .framework = "torch",
                            .backend = "cuda",
                            .program = "",
                            .phase = MT_PHASE_NONE,
                            .file = ""};
    put(&i, MT_OOM_TOTAL, c->total);
    put(&i, MT_OOM_FREE, c->free);
    put(&i, MT_OOM_REQUESTED, c->requested);
    put(&i, MT_OOM_ALLOCATED, c->allocated);
    put(&i, MT_OOM_RESERVED, c->reserved);
    put(&i, MT_OOM_PROCESS, c->process);
    put(&i, MT_OOM_ALLOWED, c->allowed);
    put(&i, MT_OOM_OUTSIDE, c->outside);
    mt_log_fields_derive(&i);
    return i;
}

START_TEST(by_numbers)
{
    for (size_t c = 0; c < MT_COUNT(CASES); c++) {
        struct mt_incident i = incident_of(&CASES[c]);
        struct mt_facts f;
        struct mt_buf text = {0};
        mt_facts_init(&f, &i);
        const struct mt_rule *rule = mt_rules_primary(&f);
        ck_assert_msg(strcmp(rule->id, CASES[c].rule) == 0, "case %zu: %s, not %s", c, rule->id,
                      CASES[c].rule);
        rule->say(&f, &text);
        ck_assert(text.n > 0 && text.p[text.n - 1] == '.');
        mt_buf_release(&text);
    }
}
END_TEST

/* Rules that rest on something other than numbers. */
START_TEST(by_kind)
{
    static const struct {
        enum mt_incident_kind kind;
        const char *framework, *rule;
    } kinds[] = {{MT_KIND_OVERSIZE, "torch", "beyond-any-device"},
                 {MT_KIND_LIMIT, "rmm", "pool-or-driver"},
                 {MT_KIND_LIMIT, "onnxruntime", "pool-exhausted"},
                 {MT_KIND_LIBRARY, "nccl", "no-numbers"}};
    for (size_t k = 0; k < MT_COUNT(kinds); k++) {
        struct mt_incident i = {.kind = kinds[k].kind,
                                .framework = kinds[k].framework,
                                .format = "",
                                .backend = "",
                                .program = "",
                                .phase = MT_PHASE_NONE};
        struct mt_facts f;
        mt_facts_init(&f, &i);
        ck_assert_str_eq(mt_rules_primary(&f)->id, kinds[k].rule);
        ck_assert(mt_rules_holds(&f, MT_VERDICT_NON_PYTORCH) == (kinds[k].kind == MT_KIND_LIBRARY));
    }
}
END_TEST

START_TEST(leaks_come_first)
{
    struct mt_incident i = incident_of(&CASES[15]);
    struct mt_series leak = {.is_leak = true, .bytes_per_step = 5e7, .samples = 100};
    struct mt_facts f;
    mt_facts_init(&f, &i);
    f.leak = &leak;
    ck_assert_str_eq(mt_rules_primary(&f)->id, "leak-printed");
    f.leak = NULL;
    f.growing = "train.py:3 step";
    ck_assert_str_eq(mt_rules_primary(&f)->id, "leak-recorded");
    ck_assert(mt_rules_holds(&f, MT_VERDICT_NOT_ENOUGH));
}
END_TEST

START_TEST(a_limit_that_someone_set)
{
    struct mt_incident i = {.kind = MT_KIND_OOM,
                            .framework = "tensorflow",
                            .format = "bfc",
                            .backend = "",
                            .program = "",
                            .phase = MT_PHASE_NONE};
    struct mt_facts f;
    mt_oom_set(&i.numbers, MT_OOM_TOTAL, 4ull << 30);
    mt_oom_set(&i.numbers, MT_OOM_ALLOCATED, 4ull << 30);
    mt_facts_init(&f, &i);
    ck_assert_str_eq(mt_rules_primary(&f)->id, "limit-set");
    i.numbers.v[MT_OOM_TOTAL] = 10954368615u;
    mt_facts_init(&f, &i);
    ck_assert_str_ne(mt_rules_primary(&f)->id, "limit-set");
}
END_TEST

/* What is said of an event claims no more than its figures bear. */
START_TEST(headlines)
{
    static const struct {
        struct rule_case figures;
        const char *headline, *says;
    } cases[] = {
        {{NULL, 31.73, 1.66, 3.45, 29.35, 29.72, NO, NO, NO},
         "The job needs more memory than the card has.",
         "was missing; the 378.88 MiB reserved but unallocated would not"},
        {{NULL, 23.98, 1.70, 1.88, 21.65, 21.92, NO, NO, NO},
         "The job takes most of the card, and what is left could not hold this request.",
         "about 184 MiB was missing; 276.48 MiB is reserved but lies in holes"},
        {{NULL, 44.40, 4.20, 4.19, 39.85, 39.89, 40.2, NO, NO},
         "The job takes most of the card, and what is left could not hold this request.",
         "Live tensors take 39.85 GiB, 90 % of the 44.40 GiB."},
        {{NULL, 8, 0.05, 0.125, 6.2, 6.2, NO, NO, NO},
         "The job needs more memory than is left for it on this card.",
         "The 128.00 MiB request was 76.80 MiB short."},
        {{NULL, 44.5, 0.0005, 0.002, NO, NO, NO, NO, NO},
         "The card is full, but the message does not say with whose memory.",
         "does not say who holds"},
        {{NULL, 24, 2, 4, 11, 14.5, 15.3, NO, NO},
         "Enough memory was left, but in pieces that the request did not fit into.",
         "would together hold"},
        {{NULL, 16, NO, 5, 2.4, 2.5, NO, NO, NO},
         "The card was probably not full: this process held little of it.",
         "is not printed"},
    };
    for (size_t c = 0; c < MT_COUNT(cases); c++) {
        struct mt_incident i = incident_of(&cases[c].figures);
        struct mt_facts f;
        struct mt_buf text = {0};
        mt_facts_init(&f, &i);
        const struct mt_rule *rule = mt_rules_primary(&f);
        ck_assert_str_eq(mt_facts_headline(&f, rule), cases[c].headline);
        rule->say(&f, &text);
        ck_assert_msg(strstr(text.p, cases[c].says) != NULL, "case %zu: %s", c, text.p);
        mt_buf_release(&text);
    }
}
END_TEST

UNIT_MAIN("rules", headlines, by_numbers, by_kind, leaks_come_first, a_limit_that_someone_set)
