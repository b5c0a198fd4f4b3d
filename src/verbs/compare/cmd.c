/* SPDX-License-Identifier: MIT */
/* compare: what grew between two snapshots, at their peaks or at another moment. */
#include <string.h>

#include "cli/analysis_run.h"
#include "cli/each_file.h"
#include "cli/output/flame_picture.h"
#include "print/folded.h"
#include "print/peak_label.h"
#include "verbs/compare/print.h"

struct compare_settings {
    struct mt_filter_settings base;
    struct mt_moment at;
    int by; /* enum mt_peak_by */
    int format;
    bool segments;
    bool exit_code;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);

static const char *const FORMATS[] = {"text", "folded", NULL};

#define AT(field) offsetof(struct compare_settings, field)

static const struct mt_option OPTIONS[] = {
    MT_OPT_CUSTOM(
        0, "at", AT(at), "WHEN", mt_at_parse,
        "the moment in each file: peak (default where all have a trace), end, oom, start, "
        "step:N (from 0) or annotation:NAME (their highest point), an event's number or a time",
        .common = true),
    MT_OPT_CHOICE(0, "by", AT(by), MT_PEAK_BY_WORDS,
                  "group by stack (default), file, line, function, module, annotation, stream, "
                  "pool, category, label, region or node",
                  .arg = "WHAT", .common = true),
    MT_OPT_FLAG(0, "segments", AT(segments),
                "also list the segments that only one of the files has", .common = true),
    MT_OPT_CHOICE(0, "format", AT(format), FORMATS,
                  "folded: the blocks of segments that only one file has, for flamegraph.pl"),
    MT_OPT_FLAG(0, "exit-code", AT(exit_code), "exit with 1 when the memory in use differs",
                .common = true),
    MT_OPT_OUTPUT("write to FILE, - is standard output; to .json, .csv or .tsv as such, to .svg, "
                  ".png or .pdf as a flame graph"),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Report", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
    MT_FILTER_GROUP(struct mt_filter_settings),
};

const struct mt_command mt_cmd_compare = {
    .name = "compare",
    .summary = "what grew between two snapshots",
    .usage = "[options] BEFORE AFTER...",
    .description =
        "Compares the memory alive in two snapshots, each at its own peak, by the call stack that "
        "allocated it: largest change first, signed, with what is new and what is gone, and before "
        "that the settings, releases and programs that differ. The rows add up to the change of "
        "the total. Stacks are matched by content; where nothing matches exactly, line numbers are "
        "ignored, so that an edit between the two runs does not tear a stack in two. Addresses "
        "play "
        "no part. --at end compares the blocks in use at the dump, which is also what is done "
        "where a file has no trace. Further files are each compared with the first. --segments "
        "lists the segments that only one file has.",
    .examples = "memtool compare before.pickle after.pickle        why the second needs more\n"
                "memtool compare --at step:3 --by category a.pickle b.pickle\n"
                "memtool compare --at end --exit-code -n 0 a.pickle b.pickle    1 if they differ",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_TABLE | MT_COMMAND_FIGURES | MT_COMMAND_FLAME,
    .settings_size = sizeof(struct compare_settings),
    .min_files = 2,
    .max_files = -1,
    .run = run,
};

/* One file and what it holds at the moment. */
struct input {
    struct mt_snapshot s;
    struct mt_filtered f;
    struct mt_compare_side side;
    bool loaded;
};

/* One pair of them. */
struct pair {
    struct mt_diff diff;
    struct mt_differences differences;
    struct mt_segment_diff segments;
};

struct run {
    struct input *files;
    struct pair *pairs; /* the first file with each of the others */
    struct mt_comparison *list;
    size_t n_files, n_pairs;
    struct mt_compare_options options;
    struct mt_rules *rules;
};

static void run_release(struct run *x)
{
    for (size_t i = 0; x->files && i < x->n_files; i++) {
        mt_compare_side_release(&x->files[i].side);
        mt_filtered_release(&x->files[i].f);
        if (x->files[i].loaded) {
            mt_snapshot_release(&x->files[i].s);
        }
    }
    for (size_t i = 0; x->pairs && i < x->n_pairs; i++) {
        mt_diff_release(&x->pairs[i].diff);
        mt_differences_release(&x->pairs[i].differences);
        mt_segment_diff_release(&x->pairs[i].segments);
    }
    mt_mem_free(x->files);
    mt_mem_free(x->pairs);
    mt_mem_free(x->list);
    mt_rules_free(x->rules);
}

/* 0, 4 when one of them is salvaged, else the exit code of an error that was printed. */
static int load_all(struct run *x, struct mt_cli *cli, const struct compare_settings *o,
                    char **files)
{
    int worst = 0;
    size_t passing = 0;
    struct mt_error err, missing;
    for (size_t i = 0; i < x->n_files; i++) {
        struct input *in = &x->files[i];
        int code = mt_cli_load(cli, &o->base.common, files[i], &in->s);
        if (code != 0 && code != 4) {
            return code;
        }
        in->loaded = true;
        worst = code > worst ? code : worst;
        if (mt_filtered_init(&in->f, &o->base.filter, &in->s, &err) != MT_OK) {
            return mt_cli_fail(cli, files[i], &err);
        }
        passing += mt_filtered_check(&in->f, false, &missing) == MT_OK;
    }
    /* What only one of them has is what a comparison is for. */
    return passing ? worst : mt_cli_fail(cli, files[x->n_files - 1], &missing);
}

/* Without --at: the peak, where all have one that is not just their dump. */
static void choose_moment(struct run *x, const struct compare_settings *o)
{
    x->options = (struct mt_compare_options){
        .at = o->at,
        .by = (enum mt_peak_by)o->by,
        .device = o->base.filter.device < 0 ? MT_ALL_DEVICES : o->base.filter.device,
        .rules = x->rules};
    bool dump = o->segments || o->format == 1;
    for (size_t i = 0; i < x->n_files; i++) {
        dump |= x->files[i].s.n_events == 0;
    }
    if (!o->at.text && dump) {
        x->options.at.kind = MT_AT_END;
    }
}

/* *which: the file that an error is about. */
static enum mt_status find_all(struct run *x, const struct mt_report *r,
                               const struct compare_settings *o, char **files, size_t *which,
                               struct mt_error *err)
{
    struct mt_filter rest = o->base.filter;
    rest.device = -1;
    bool dump = mt_compare_is_of_dump(&x->options), open = mt_filter_is_open(&rest);
    for (*which = 0; *which < x->n_files; ++*which) {
        struct input *in = &x->files[*which];
        in->side.file = files[*which];
        in->side.s = &in->s;
        MT_TRY(mt_compare_side_find(&in->side, open && !dump ? NULL : &in->f, &x->options, r, err));
    }
    for (size_t i = 0; i < x->n_pairs; i++) {
        struct pair *p = &x->pairs[i];
        const struct input *a = &x->files[0], *b = &x->files[i + 1];
        *which = i + 1;
        MT_TRY(mt_diff_find(&p->diff, &a->side, &b->side, err));
        MT_TRY(mt_differences_find(&p->differences, &a->s, &b->s, err));
        MT_TRY(mt_segment_diff_find(&p->segments, &a->s, &b->s, err));
        x->list[i] = (struct mt_comparison){.options = &x->options,
                                            .before = &a->side,
                                            .after = &b->side,
                                            .diff = &p->diff,
                                            .differences = &p->differences,
                                            .segments = o->segments ? &p->segments : NULL,
                                            .filtered = !open};
    }
    return MT_OK;
}

static enum mt_status print_folded(const struct mt_report *r, const struct run *x,
                                   struct mt_error *err)
{
    const struct mt_segment_diff *d = &x->pairs->segments;
    MT_TRY(mt_report_folded_some(r, &x->files[0].s, d->only_before.v, d->only_before.n,
                                 "only_before;", err));
    return mt_report_folded_some(r, &x->files[1].s, d->only_after.v, d->only_after.n, "only_after;",
                                 err);
}

/* As wide as the larger of before and after, so that what is gone shows too. */
static enum mt_status draw_flame(const struct mt_report *r, const struct mt_plot_format *format,
                                 const struct run *x, struct mt_error *err)
{
    struct mt_flame tree;
    const struct mt_diff *d = &x->pairs->diff;
    char total[160];
    (void)snprintf(total, sizeof total, "%s before, %s after, at %s",
                   mt_report_size(r, d->before).s, mt_report_size(r, d->after).s,
                   mt_moment_name(x->options.at.kind));
    struct mt_flame_what what = {.tree = &tree,
                                 .title = "Change of memory by stack",
                                 .total = total,
                                 .before = x->files[0].side.file,
                                 .compare = true};
    struct mt_flame_item *items = mt_mem_alloc(d->rows.n ? d->rows.n : 1, sizeof *items);
    size_t n = 0;
    if (!items) {
        return mt_fail_nomem(err);
    }
    for (int side = 1; side >= 0; side--) { /* stacks of the second file, then those only before */
        for (size_t i = 0; i < d->rows.n; i++) {
            const struct mt_diff_row *row = &d->rows.v[i];
            if ((row->status == MT_DIFF_GONE) == (side == 0)) {
                items[n++] = (struct mt_flame_item){
                    .snapshot = &x->files[side].s,
                    .stack = side ? row->after_stack : row->before_stack,
                    .bytes = row->before > row->after ? row->before : row->after,
                    .count = row->after_count,
                    .change = mt_diff_delta(row->before, row->after)};
            }
        }
    }
    enum mt_status status = mt_flame_build_items(&tree, items, n, err);
    if (status == MT_OK) {
        status = mt_flame_write(r, format, &what, err);
    }
    mt_flame_release(&tree);
    mt_mem_free(items);
    return status;
}

static enum mt_status print(const struct mt_report *r, const struct run *x,
                            const struct compare_settings *o, struct mt_error *err)
{
    const struct mt_plot_format *picture = mt_flame_format(&o->base.common);
    if (picture) {
        return draw_flame(r, picture, x, err);
    }
    return o->format == 1 ? print_folded(r, x, err)
                          : mt_report_compare(r, x->list, x->n_pairs, err);
}

static int compare(struct run *x, struct mt_cli *cli, const struct mt_report *r,
                   const struct compare_settings *o, char **files)
{
    struct mt_error err;
    size_t which = x->n_files - 1;
    x->n_pairs = x->n_files - 1;
    x->files = mt_mem_zalloc(x->n_files, sizeof *x->files);
    x->pairs = mt_mem_zalloc(x->n_pairs, sizeof *x->pairs);
    x->list = mt_mem_zalloc(x->n_pairs, sizeof *x->list);
    if (!x->files || !x->pairs || !x->list) {
        (void)mt_fail_nomem(&err);
        return mt_cli_fail(cli, files[which], &err);
    }
    int code = mt_cli_rules(cli, NULL, &x->rules);
    code = code ? code : load_all(x, cli, o, files);
    if (code != 0 && code != 4) {
        return code;
    }
    choose_moment(x, o);
    enum mt_status status = find_all(x, r, o, files, &which, &err);
    if (status == MT_OK) {
        status = print(r, x, o, &err);
    }
    return status == MT_OK ? code : mt_cli_fail(cli, files[which], &err);
}

static bool any_differs(const struct run *x)
{
    for (size_t i = 0; i < x->n_pairs; i++) {
        const struct mt_diff *d = &x->pairs[i].diff;
        if (d->rows.n != d->by_status[MT_DIFF_SAME]) {
            return true;
        }
    }
    return false;
}

/* 0, or the exit code after saying what does not go together. */
static int check_call(struct mt_cli *cli, const struct compare_settings *o, char **files, size_t n)
{
    size_t pipes = 0;
    for (size_t i = 0; i < n; i++) {
        pipes += strcmp(files[i], "-") == 0;
    }
    if (pipes > 1) {
        return mt_cli_usage(cli, "compare: only one of the files can be standard input");
    }
    const struct mt_plot_format *picture = mt_flame_format(&o->base.common);
    if (n > 2 && (picture || o->format == 1)) {
        return mt_cli_usage(cli, "compare: a flame graph is of two files");
    }
    if (picture && o->by != MT_BY_STACK) {
        return mt_cli_usage(cli, "-o %s: a flame graph goes by stack; leave out --by",
                            o->base.common.output);
    }
    if ((o->segments || o->format == 1) && o->at.text && o->at.kind != MT_AT_END) {
        return mt_cli_usage(cli, "compare: %s is of the dumps: leave out --at",
                            o->segments ? "--segments" : "--format folded");
    }
    return mt_cli_no_event_filters(cli, &o->base.filter, "memtool peak on each file");
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct compare_settings *o = settings;
    struct mt_report r;
    struct mt_cli_output out;
    struct run x = {.n_files = n_files};
    int code = check_call(cli, o, files, n_files);
    if (code == 0) {
        code = mt_cli_report_begin(cli, &o->base.common, files[n_files - 1], &r, &out);
    }
    if (code) {
        return code;
    }
    code = compare(&x, cli, &r, o, files);
    bool differs = code == 0 && any_differs(&x);
    run_release(&x);
    return mt_cli_report_end(cli, &out, differs && o->exit_code ? 1 : code);
}
