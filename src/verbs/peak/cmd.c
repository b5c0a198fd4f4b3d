/* SPDX-License-Identifier: MIT */
/* memtool peak: who holds memory at the peak, or at another moment. */
#include "cli/analysis_run.h"
#include "cli/command.h"
#include "cli/output/flame_picture.h"
#include "heap/findings/peak.h"
#include "heap/stacks/event_labels.h"
#include "heap/walk/query.h"
#include "print/peak_label.h"
#include "verbs/peak/print.h"

struct peak_settings {
    struct mt_common common;
    struct mt_moment at;
    int by; /* enum mt_peak_by */
    const char *rules;
    bool print_rules;
    struct mt_filter filter;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);

#define AT(field) offsetof(struct peak_settings, field)

static const struct mt_option OPTIONS[] = {
    MT_OPT_CUSTOM(0, "at", AT(at), "WHEN", mt_at_parse,
                  "the moment: peak (default), oom, end, start, step:N or annotation:NAME (their "
                  "highest point), "
                  "an event's number or a time",
                  .common = true),
    MT_OPT_CHOICE(
        0, "by", AT(by), MT_PEAK_BY_WORDS,
        "group by stack (default), file, line, function, folder (of the file), annotation, "
        "stream, pool, category, label (what the program said of it), region (of "
        "torch.compile), node (of a compiled graph or of the backward pass) or module "
        "(nn.Module, of capture --modules)",
        .arg = "WHAT", .common = true),
    MT_OPT_TEXT(0, "rules", AT(rules), "FILE",
                "more rules for categories, taken before the shipped ones"),
    MT_OPT_FLAG(0, "print-rules", AT(print_rules),
                "print the shipped rules for categories and exit"),
    MT_OPT_OUTPUT("write to FILE, - is standard output; to .json, .csv or .tsv as such, to .svg, "
                  ".png or .pdf as a flame graph"),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Options", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
    MT_FILTER_GROUP(struct peak_settings),
};

const struct mt_command mt_cmd_peak = {
    .name = "peak",
    .summary = "who holds memory at the peak",
    .usage = "[options] FILE...",
    .description =
        "Shows which call stacks hold the memory at the moment when most is alive, or at another "
        "moment. Memory counts in requested bytes from its allocation until its free has "
        "completed, and what was alive before the recording began counts too, so that the total is "
        "PyTorch's requested_bytes.all.peak.",
    .examples =
        "memtool peak snap.pickle                    who holds most at the peak\n"
        "memtool peak --at oom --by category snap.pickle  what filled the card when it failed",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_TABLE | MT_COMMAND_FIGURES | MT_COMMAND_FLAME,
    .settings_size = sizeof(struct peak_settings),
    .max_files = -1,
    .run = run,
};

struct peaks {
    MT_VEC(struct mt_peak) list;
};

static enum mt_status look_at(struct peaks *all, const struct mt_device_run *d,
                              const struct mt_peak_options *o, struct mt_error *err)
{
    struct mt_peak p;
    enum mt_status status = mt_peak_find(&p, d->snapshot, d->replay, d->filtered, o, err);
    if (status == MT_OK && !mt_vec_push(&all->list, p)) {
        status = mt_fail_nomem(err);
    }
    if (status != MT_OK) {
        mt_peak_release(&p);
    }
    return status;
}

struct peak_items {
    MT_VEC(struct mt_flame_item) list;
};

struct visit {
    struct peaks all;
    struct mt_peak_options options;
    const struct mt_plot_format *picture; /* -o x.svg: a flame graph; else NULL */
};

static enum mt_status visit_device(void *ctx, const struct mt_device_run *d, struct mt_error *err)
{
    struct visit *v = ctx;
    struct mt_peak_options o = v->options;
    uint32_t tensors;
    bool nameless = d->snapshot->n_stack_frames == 0 && !v->picture;
    if (o.by == MT_BY_STACK && nameless && mt_snapshot_tensors(d->snapshot, &tensors)) {
        o.by = MT_BY_LABEL; /* capture --pid --tensors of a process that did not record */
    }
    return look_at(&v->all, d, &o, err);
}

static enum mt_status add_items(struct peaks *all, const struct mt_snapshot *s,
                                struct peak_items *items, struct mt_error *err)
{
    for (size_t i = 0; i < all->list.n; i++) {
        const struct mt_peak *p = &all->list.v[i];
        for (size_t k = 0; k < p->rows.n; k++) {
            struct mt_flame_item item = {.snapshot = s,
                                         .stack = p->rows.v[k].key,
                                         .bytes = p->rows.v[k].bytes,
                                         .count = p->rows.v[k].count};
            if (!mt_vec_push(&items->list, item)) {
                return mt_fail_nomem(err);
            }
        }
    }
    return MT_OK;
}

static enum mt_status draw_flame(struct visit *v, const struct mt_report *r,
                                 const struct mt_snapshot *s, struct mt_error *err)
{
    struct peak_items items = {{0}};
    struct mt_flame tree = {0};
    char total[64];
    (void)snprintf(total, sizeof total, "alive at the %s", mt_moment_name(v->options.at.kind));
    struct mt_flame_what what = {
        .snapshot = s, .tree = &tree, .title = "Memory by stack", .total = total};
    enum mt_status status = add_items(&v->all, s, &items, err);
    if (status == MT_OK) {
        status = mt_flame_build_items(&tree, items.list.v, items.list.n, err);
    }
    if (status == MT_OK) {
        status = mt_flame_write(r, v->picture, &what, err);
    }
    mt_flame_release(&tree);
    mt_vec_release(&items.list);
    return status;
}

static enum mt_status report(void *ctx, const struct mt_report *r, const struct mt_snapshot *s,
                             bool one_line, struct mt_error *err)
{
    struct visit *v = ctx;
    const struct peaks *all = &v->all;
    if (v->picture) {
        return draw_flame(v, r, s, err);
    }
    if (r->json) {
        return mt_report_peak_json(r, s, all->list.v, all->list.n, one_line, err);
    }
    return r->separator ? mt_report_peak_csv(r, s, all->list.v, all->list.n, err)
                        : mt_report_peak_text(r, s, all->list.v, all->list.n, err);
}

static void reset(void *ctx)
{
    struct visit *v = ctx;
    for (size_t i = 0; i < v->all.list.n; i++) {
        mt_peak_release(&v->all.list.v[i]);
    }
    mt_vec_release(&v->all.list);
}

static int print_rules(struct mt_cli *cli)
{
    for (size_t i = 0; MT_CATEGORY_RULES[i]; i++) {
        fprintf(cli->out, "%s\n", MT_CATEGORY_RULES[i]);
    }
    return 0;
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct peak_settings *x = settings;
    struct mt_rules *rules = NULL;
    if (x->print_rules) {
        return print_rules(cli);
    }
    if (!n_files) {
        return mt_cli_missing(cli, cli->command, 0);
    }
    const struct mt_plot_format *picture = mt_flame_format(&x->common);
    if (picture && x->by != MT_BY_STACK) {
        return mt_cli_usage(cli, "-o %s: a flame graph goes by stack; leave out --by",
                            x->common.output);
    }
    int exit_code = mt_flame_check(cli, &x->common, n_files);
    exit_code = exit_code ? exit_code : mt_cli_rules(cli, x->rules, &rules);
    if (exit_code) {
        return exit_code;
    }
    struct visit v = {.options = {.at = x->at, .by = (enum mt_peak_by)x->by, .rules = rules},
                      .picture = picture};
    const struct mt_analysis_verb verb = {
        .device = visit_device, .report = report, .reset = reset, .picture = picture != NULL};
    exit_code = mt_analysis_run(cli, &x->common, &x->filter, &verb, &v, files, n_files);
    mt_rules_free(rules);
    return exit_code;
}
