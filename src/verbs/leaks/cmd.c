/* SPDX-License-Identifier: MIT */
/* memtool leaks: what grows step after step. */
#include "cli/each_file.h"
#include "cli/analysis_run.h"
#include "cli/command.h"
#include "cli/course_input.h"
#include "heap/findings/leaks.h"
#include "heap/sums/logged.h"
#include "print/course_report.h"
#include "verbs/leaks/print.h"

struct leaks_settings {
    struct mt_common common;
    struct mt_period_options period;
    uint64_t threshold, capacity;
    int64_t within;
    bool temporary, pending, series;
    struct mt_filter filter;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);
static void defaults(void *settings);

#define AT(field) offsetof(struct leaks_settings, field)

static const struct mt_option OPTIONS[] = {
    MT_OPT_CUSTOM(0, "period", AT(period), "EVENTS|NAME", mt_period_parse,
                  "a step is so many events, or begins where the annotation NAME starts",
                  .common = true),
    MT_OPT_SIZE(0, "threshold", AT(threshold), "SIZE",
                "growth per step above which it is a leak (default 1000000 bytes)", .common = true),
    MT_OPT_SIZE(0, "capacity", AT(capacity), "SIZE",
                "memory of the card: tell in how many steps it is full", .memory = true, .min = 1,
                .max = MT_ANY_SIZE, .common = true),
    MT_OPT_FLAG(0, "temporary", AT(temporary),
                "list the stacks whose allocations are freed at once", .common = true),
    MT_OPT_INT(0, "within", AT(within), "EVENTS", 1, 1e9,
               "how soon is at once (default 10 events)"),
    MT_OPT_SERIES(AT(series)),
    MT_OPT_FLAG(0, "pending", AT(pending),
                "list the frees that had to wait for another stream, by stack and stream",
                .common = true),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Options", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
    MT_FILTER_GROUP(struct leaks_settings),
};

const struct mt_command mt_cmd_leaks = {
    .name = "leaks",
    .summary = "what grows step after step",
    .usage = "[options] FILE...",
    .description =
        "Finds the steps of a training or serving loop in the trace and the call stacks whose live "
        "memory grows from step to step and is not given back. Longer inputs, caches that fill and "
        "stay, warm-up and memory that rises and falls are no leak. Growth of more than 1 MB "
        "(1000000 bytes) per step is; below five whole steps the verdict is unknown.",
    .examples = "memtool leaks snap.pickle                      does it leak, and where\n"
                "memtool leaks --capacity 80GiB snap.pickle     and when will the card be full",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_TABLE | MT_COMMAND_FIGURES,
    .settings_size = sizeof(struct leaks_settings),
    .defaults = defaults,
    .min_files = 1,
    .max_files = -1,
    .run = run,
};

static void defaults(void *settings)
{
    struct leaks_settings *x = settings;
    x->threshold = MT_LEAK_THRESHOLD;
    x->within = 10;
}

/* The worst device so far. */
struct visit {
    const struct leaks_settings *settings;
    struct mt_leaks leaks;
    struct mt_lifetimes lives;
    size_t devices;
};

static bool is_worse(const struct mt_leaks *a, const struct mt_leaks *b)
{
    return a->verdict != b->verdict ? a->verdict > b->verdict
                                    : a->bytes_per_step > b->bytes_per_step;
}

static enum mt_status visit_device(void *ctx, const struct mt_device_run *d, struct mt_error *err)
{
    struct visit *v = ctx;
    const struct leaks_settings *x = v->settings;
    struct mt_leak_options o = {
        .period = x->period, .threshold = x->threshold, .capacity = x->capacity};
    struct mt_leaks leaks;
    struct mt_lifetimes lives = {0};
    enum mt_status status = mt_leaks_find(&leaks, d->snapshot, d->replay, d->filtered, &o, err);
    if (status == MT_OK) {
        status = mt_lifetimes_find(&lives, d->replay, d->filtered, (uint64_t)x->within, err);
    }
    if (status == MT_OK && (!v->devices++ || is_worse(&leaks, &v->leaks))) {
        mt_leaks_release(&v->leaks);
        mt_lifetimes_release(&v->lives);
        v->leaks = leaks;
        v->lives = lives;
        return MT_OK;
    }
    mt_leaks_release(&leaks);
    mt_lifetimes_release(&lives);
    return status;
}

static enum mt_status report(void *ctx, const struct mt_report *r, const struct mt_snapshot *s,
                             bool one_line, struct mt_error *err)
{
    const struct visit *v = ctx;
    struct mt_leaks_result x = {.leaks = &v->leaks,
                                .lives = &v->lives,
                                .other_devices = v->devices ? v->devices - 1 : 0,
                                .capacity = v->settings->capacity,
                                .show_temporary = v->settings->temporary,
                                .show_pending = v->settings->pending};
    return r->json ? mt_report_leaks_json(r, s, &x, one_line, err)
                   : mt_report_leaks_text(r, s, &x, err);
}

static void reset(void *ctx)
{
    struct visit *v = ctx;
    mt_leaks_release(&v->leaks);
    mt_lifetimes_release(&v->lives);
    v->devices = 0;
}

/* The figures of one log: those of each process and device in it, of which the worst is told. */
static enum mt_status report_logged(void *ctx, const struct mt_report *r, const struct mt_logged *l,
                                    bool one_line, struct mt_error *err)
{
    const struct visit *v = ctx;
    uint64_t threshold = v->settings->threshold;
    struct mt_courses all;
    enum mt_status status = mt_courses_find(&all, l, r->file, threshold, err);
    if (status == MT_OK && r->json) {
        status = mt_report_course_json(r, &all.v.v[0], true, one_line, err);
    } else if (status == MT_OK) {
        status = mt_report_course_text(r, &all.v.v[0], true, err);
    }
    if (status == MT_OK && !r->json && !r->separator && all.v.n > 1) {
        mt_report_prose(r, 0, "Of the %zu processes or devices in it this one is the worst.",
                        all.v.n);
    }
    mt_courses_release(&all);
    return status;
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct leaks_settings *x = settings;
    struct visit v = {.settings = x};
    struct mt_course_call series = {
        .must = x->series, .judged = true, .threshold = x->threshold, .filter = &x->filter};
    int code;
    if (mt_cli_course(cli, &x->common, files, n_files, &series, &code)) {
        return code;
    }
    const struct mt_analysis_verb verb = {
        .device = visit_device, .report = report, .logged = report_logged, .reset = reset};
    code = mt_cli_no_fate_filters(cli, &x->filter, "memtool peak");
    return code ? code : mt_analysis_run(cli, &x->common, &x->filter, &verb, &v, files, n_files);
}
