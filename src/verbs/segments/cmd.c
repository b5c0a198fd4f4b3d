/* SPDX-License-Identifier: MIT */
/* segments: which segment holds what. */
#include "cli/each_file.h"
#include "cli/output/flame_picture.h"
#include "print/folded.h"
#include "verbs/segments/print.h"

struct segments_settings {
    struct mt_filter_settings base;
    int format;
    int sort;
    struct mt_moment at;
    bool reverse;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);
static void defaults(void *settings);

static const char *const FORMATS[] = {"text", "folded", NULL};
static const char *const SORTS[] = {"size", "addr", "free", "allocated", "count", NULL};

#define AT(field) offsetof(struct segments_settings, field)

static const struct mt_option OPTIONS[] = {
    MT_OPT_CHOICE(0, "format", AT(format), FORMATS,
                  "folded: the lines that flamegraph.pl and speedscope read", .common = true),
    MT_OPT_CHOICE(0, "sort", AT(sort), SORTS, "order of the rows, most first (addr: lowest first)",
                  .common = true),
    MT_OPT_AT(AT(at)),
    MT_OPT_FLAG('r', "reverse", AT(reverse), "the other way round"),
    MT_OPT_OUTPUT("write to FILE, - is standard output; to .json, .csv or .tsv as such, to .svg, "
                  ".png or .pdf as a flame graph"),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Report", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
    MT_FILTER_GROUP(struct mt_filter_settings),
};

const struct mt_command mt_cmd_segments = {
    .name = "segments",
    .summary = "which segment holds what",
    .usage = "[options] FILE...",
    .description =
        "Lists the segments at the dump: each is one reservation from the driver, with what is in "
        "use, what is free, the largest free block, and the stack that holds most of it. With -v, "
        "the blocks of each segment. --format folded prints one line a block for flamegraph.pl, "
        "the same lines as PyTorch's viewer.",
    .examples = "memtool segments snap.pickle                   the largest segments\n"
                "memtool segments --sort free snap.pickle       those with most free memory\n"
                "memtool segments -v -n 3 snap.pickle           three, with all their blocks",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .settings_size = sizeof(struct segments_settings),
    .defaults = defaults,
    .flags = MT_COMMAND_DUMP | MT_COMMAND_TABLE | MT_COMMAND_FIGURES | MT_COMMAND_FLAME,
    .min_files = 1,
    .max_files = -1,
    .run = run,
};

static void defaults(void *settings)
{
    struct segments_settings *o = settings;
    o->at.kind = MT_AT_END;
}

static enum mt_status report(const struct mt_report *r, const struct mt_snapshot *s,
                             struct mt_filtered *f, const struct mt_each_file *each,
                             struct mt_error *err)
{
    const struct segments_settings *o = each->settings;
    const struct mt_plot_format *picture = mt_flame_format(&o->base.common);
    if (picture) {
        return mt_flame_write_segments(r, picture, s, f, MT_FLAME_SEGMENTS, err);
    }
    if (o->format == 1) {
        return mt_report_folded(r, s, f, true, err);
    }
    struct mt_segment_rows rows;
    enum mt_status status =
        mt_segment_rows_find(&rows, s, f, (enum mt_segment_sort)o->sort, o->reverse, err);
    if (status == MT_OK) {
        status = mt_report_segments(r, s, f, &rows, each->several, err);
    }
    mt_segment_rows_release(&rows);
    return status;
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct segments_settings *o = settings;
    struct mt_each_file each = {.report = report, .settings = o, .at = &o->at};
    each.raw = o->format == 1 || mt_flame_format(&o->base.common);
    int code = mt_flame_check(cli, &o->base.common, n_files);
    if (code == 0) {
        code = mt_cli_no_event_filters(cli, &o->base.filter,
                                       "memtool segment_plot --at, or memtool trace");
    }
    return code ? code
                : mt_cli_each_file(cli, &o->base.common, &o->base.filter, files, n_files, &each);
}
