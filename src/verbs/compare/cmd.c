/* SPDX-License-Identifier: MIT */
/* compare: what grew between two snapshots. */
#include <string.h>

#include "cli/each_file.h"
#include "cli/output/flame_picture.h"
#include "print/folded.h"
#include "verbs/compare/print.h"

struct compare_settings {
    struct mt_filter_settings base;
    int format;
    bool segments;
    bool exit_code;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);

static const char *const FORMATS[] = {"text", "folded", NULL};

#define AT(field) offsetof(struct compare_settings, field)

static const struct mt_option OPTIONS[] = {
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
    .usage = "[options] BEFORE AFTER",
    .description =
        "Compares the memory in use in two snapshots by the call stack that allocated it: largest "
        "change first, signed, with what is new and what is gone. Stacks are matched by content; "
        "where nothing matches exactly, line numbers are ignored, so that an edit between the two "
        "runs does not tear a stack in two. Addresses play no part. --segments lists the segments "
        "that only one file has.",
    .examples = "memtool compare before.pickle after.pickle\n"
                "memtool compare --exit-code -n 0 a.pickle b.pickle    all of it; 1 if they differ",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_TABLE | MT_COMMAND_FIGURES,
    .settings_size = sizeof(struct compare_settings),
    .min_files = 2,
    .max_files = 2,
    .run = run,
};

struct pair {
    struct mt_snapshot s[2];
    struct mt_filtered f[2];
    int loaded, filtered; /* how many of each are there */
};

static void pair_release(struct pair *p)
{
    for (int i = 0; i < p->filtered; i++) {
        mt_filtered_release(&p->f[i]);
    }
    for (int i = 0; i < p->loaded; i++) {
        mt_snapshot_release(&p->s[i]);
    }
}

/* 0, 4 when one of them is salvaged, else the exit code of an error that was printed. */
static int pair_load(struct pair *p, struct mt_cli *cli, const struct compare_settings *o,
                     char **files)
{
    int worst = 0;
    struct mt_error err;
    for (int i = 0; i < 2; i++) {
        int code = mt_cli_load(cli, &o->base.common, files[i], &p->s[i]);
        if (code != 0 && code != 4) {
            return code;
        }
        p->loaded++;
        worst = code > worst ? code : worst;
        if (mt_filtered_init(&p->f[i], &o->base.filter, &p->s[i], &err) != MT_OK) {
            return mt_cli_fail(cli, files[i], &err);
        }
        p->filtered++;
    }
    /* What only one of them has is what a comparison is for. */
    if (mt_filtered_check(&p->f[0], false, &err) != MT_OK &&
        mt_filtered_check(&p->f[1], false, &err) != MT_OK) {
        return mt_cli_fail(cli, files[1], &err);
    }
    return worst;
}

static enum mt_status print_folded(const struct mt_report *r, const struct pair *p,
                                   const struct mt_segment_diff *d, struct mt_error *err)
{
    MT_TRY(mt_report_folded_some(r, &p->s[0], d->only_before.v, d->only_before.n, "only_before;",
                                 err));
    return mt_report_folded_some(r, &p->s[1], d->only_after.v, d->only_after.n, "only_after;", err);
}

/* As wide as the larger of before and after, so that what is gone shows too. */
static enum mt_status draw_flame(const struct mt_report *r, const struct mt_plot_format *format,
                                 const struct pair *p, const struct mt_diff *d, const char *before,
                                 struct mt_error *err)
{
    struct mt_flame tree;
    char total[160];
    (void)snprintf(total, sizeof total, "%s before, %s after", mt_report_size(r, d->before).s,
                   mt_report_size(r, d->after).s);
    struct mt_flame_what what = {.tree = &tree,
                                 .title = "Change of memory by stack",
                                 .total = total,
                                 .before = before,
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
                    .snapshot = &p->s[side],
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

/* *differs: the memory in use is not the same. */
static enum mt_status report(const struct mt_report *r, struct pair *p,
                             const struct compare_settings *o, char **files, bool *differs,
                             struct mt_error *err)
{
    struct mt_diff diff = {0};
    struct mt_segment_diff segments = {0};
    int32_t device = o->base.filter.device < 0 ? MT_ALL_DEVICES : o->base.filter.device;
    bool folded = o->format == 1;
    enum mt_status status =
        mt_diff_find(&diff, &p->s[0], &p->f[0], &p->s[1], &p->f[1], device, err);
    if (status == MT_OK && (o->segments || folded)) {
        status = mt_segment_diff_find(&segments, &p->s[0], &p->s[1], err);
    }
    *differs = diff.rows.n != diff.by_status[MT_DIFF_SAME];
    struct mt_comparison c = {files[0], files[1],
                              &p->s[0], &p->s[1],
                              &diff,    o->segments ? &segments : NULL,
                              device,   !mt_filter_is_open(&o->base.filter)};
    const struct mt_plot_format *picture = mt_flame_format(&o->base.common);
    if (status == MT_OK && picture) {
        status = draw_flame(r, picture, p, &diff, files[0], err);
    } else if (status == MT_OK) {
        status = folded ? print_folded(r, p, &segments, err) : mt_report_compare(r, &c, err);
    }
    mt_diff_release(&diff);
    mt_segment_diff_release(&segments);
    return status;
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct compare_settings *o = settings;
    struct mt_report r;
    struct mt_cli_output out;
    struct pair p = {0};
    struct mt_error err;
    bool differs = false;
    (void)n_files;
    if (strcmp(files[0], "-") == 0 && strcmp(files[1], "-") == 0) {
        return mt_cli_usage(cli, "compare: only one of the files can be standard input");
    }
    int code = mt_cli_no_event_filters(cli, &o->base.filter, "memtool peak on each file");
    if (code == 0) {
        code = mt_cli_report_begin(cli, &o->base.common, files[1], &r, &out);
    }
    if (code) {
        return code;
    }
    code = pair_load(&p, cli, o, files);
    if (code == 0 || code == 4) {
        if (report(&r, &p, o, files, &differs, &err) != MT_OK) {
            code = mt_cli_fail(cli, files[1], &err);
        }
    }
    pair_release(&p);
    return mt_cli_report_end(cli, &out, code == 0 && differs && o->exit_code ? 1 : code);
}
