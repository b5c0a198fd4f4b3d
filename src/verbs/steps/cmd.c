/* SPDX-License-Identifier: MIT */
/* memtool steps: what a step is made of. */
#include "print/labels.h"
#include "verbs/steps/print.h"
#include "heap/findings/steps.h"

#include "cli/analysis_run.h"
#include "cli/command.h"

struct steps_settings {
    struct mt_common common;
    struct mt_period_options period;
    int64_t device; /* -1: all */
    bool phases;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);
static void defaults(void *settings);

static const struct mt_option OPTIONS[] = {
    MT_OPT_CUSTOM(
        0, "period", offsetof(struct steps_settings, period), "EVENTS|NAME", mt_period_parse,
        "a step is so many events, or begins where the annotation NAME starts", .common = true),
    MT_OPT_FLAG(0, "phases", offsetof(struct steps_settings, phases),
                "a row for each phase of each step: forward, backward, optimizer, evaluation",
                .common = true),
    MT_OPT_INT(0, "device", offsetof(struct steps_settings, device), "N", 0, 1023,
               "only this device", .common = true),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Options", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
};

const struct mt_command mt_cmd_steps = {
    .name = "steps",
    .summary = "what a step is made of, one by one",
    .usage = "[options] FILE...",
    .description = "Prints a row for each step of a training or serving loop: memory before and "
                   "after, the peak "
                   "and the phase it lies in, requests, calls of the driver, what the cache "
                   "served, time. Marks "
                   "the warm-up and the steps that stand out. Then what one pass of the model is "
                   "made of: what "
                   "each layer keeps, and what all memory at the peak is for.",
    .examples = "memtool steps snap.pickle              where in the step is the peak\n"
                "memtool steps --phases snap.pickle     and what does each phase cost\n"
                "memtool steps --csv snap.pickle        the rows for a spreadsheet",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_TABLE | MT_COMMAND_FIGURES,
    .settings_size = sizeof(struct steps_settings),
    .defaults = defaults,
    .min_files = 1,
    .max_files = -1,
    .run = run,
};

static void defaults(void *settings)
{
    struct steps_settings *x = settings;
    x->device = -1;
}

struct visit {
    const struct steps_settings *settings;
    const struct mt_rules *rules;
    MT_VEC(struct mt_trace_steps) list;
};

static enum mt_status visit_device(void *ctx, const struct mt_device_run *d, struct mt_error *err)
{
    struct visit *v = ctx;
    struct mt_trace_steps x;
    enum mt_status status = mt_trace_steps_find(&x, d->replay, v->rules, &v->settings->period, err);
    if (status == MT_OK && !mt_vec_push(&v->list, x)) {
        status = mt_fail_nomem(err);
    }
    if (status != MT_OK) {
        mt_trace_steps_release(&x);
    }
    return status;
}

static enum mt_status report(void *ctx, const struct mt_report *r, const struct mt_snapshot *s,
                             bool one_line, struct mt_error *err)
{
    const struct visit *v = ctx;
    return r->json ? mt_report_steps_json(r, s, v->list.v, v->list.n, one_line, err)
                   : mt_report_steps_text(r, s, v->list.v, v->list.n, v->settings->phases, err);
}

static void reset(void *ctx)
{
    struct visit *v = ctx;
    for (size_t i = 0; i < v->list.n; i++) {
        mt_trace_steps_release(&v->list.v[i]);
    }
    mt_vec_release(&v->list);
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct steps_settings *x = settings;
    struct mt_rules *rules = NULL;
    int exit_code = mt_cli_rules(cli, NULL, &rules);
    if (exit_code) {
        return exit_code;
    }
    struct visit v = {.settings = x, .rules = rules};
    const struct mt_analysis_verb verb = {.device = visit_device, .report = report, .reset = reset};
    struct mt_filter filter;
    mt_filter_init(&filter);
    filter.device = (int32_t)x->device;
    exit_code = mt_analysis_run(cli, &x->common, &filter, &verb, &v, files, n_files);
    mt_filter_release(&filter);
    mt_rules_free(rules);
    return exit_code;
}
