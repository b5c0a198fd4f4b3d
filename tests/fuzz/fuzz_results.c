/* SPDX-License-Identifier: MIT */
/* Any bytes as results of earlier runs, and as the config.json of a model. */
#include "verbs/ranks/print.h"

#include "verbs/estimate/estimate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void results(struct mt_str text)
{
    struct mt_ranks ranks;
    struct mt_ranks_result result = {0};
    struct mt_error err;
    FILE *to = fopen("/dev/null", "w");
    struct mt_report r = {.out = to, .stack_lines = 1};
    if (to && mt_ranks_init(&ranks, 1, &err) == MT_OK) {
        (void)!mt_ranks_read_results(&ranks, text, &err); /* what was read before an error counts */
        if (mt_ranks_compare(&ranks, 0.05, &result, &err) == MT_OK) {
            (void)!mt_report_ranks_text(&r, &ranks, &result, &err);
            (void)!mt_report_ranks_json(&r, &ranks, &result, &err);
        }
        mt_ranks_result_release(&result);
        mt_ranks_release(&ranks);
    }
    if (to) {
        fclose(to);
    }
}

static void config(struct mt_str text)
{
    struct mt_estimate_options o;
    struct mt_estimate e;
    struct mt_model m;
    struct mt_error err;
    mt_estimate_options_init(&o);
    if (mt_model_read(&m, text, NULL, &err) == MT_OK) {
        o.batch = o.sequence = 1 << 20;
        (void)!mt_estimate_find(&e, &m, &o, &err);
        o.inference = true;
        (void)!mt_estimate_find(&e, &m, &o, &err);
        mt_model_release(&m);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mt_str text = {(const char *)data, size};
    results(text);
    config(text);
    return 0;
}
