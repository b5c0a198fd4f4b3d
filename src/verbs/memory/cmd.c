/* SPDX-License-Identifier: MIT */
/* memory: which stacks hold memory. */
#include "cli/each_file.h"
#include "cli/output/flame_picture.h"
#include "heap/walk/query.h"
#include "print/folded.h"
#include "verbs/memory/print.h"

struct memory_settings {
    struct mt_filter_settings base;
    int format;
    int sort;
    struct mt_moment at;
    bool reverse;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);
static void defaults(void *settings);

static const char *const FORMATS[] = {"text", "folded", NULL};
static const char *const SORTS[] = {"bytes", "count", "largest", NULL};

#define AT(field) offsetof(struct memory_settings, field)

static const struct mt_option OPTIONS[] = {
    MT_OPT_CHOICE(0, "format", AT(format), FORMATS,
                  "folded: the lines that flamegraph.pl and speedscope read", .common = true),
    MT_OPT_CHOICE(0, "sort", AT(sort), SORTS, "order of the rows, most first", .common = true),
    MT_OPT_AT(AT(at)),
    MT_OPT_FLAG('r', "reverse", AT(reverse), "least first"),
    MT_OPT_OUTPUT("write to FILE, - is standard output; to .json, .csv or .tsv as such, to .svg, "
                  ".png or .pdf as a flame graph"),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Report", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
    MT_FILTER_GROUP(struct mt_filter_settings),
};

const struct mt_command mt_cmd_memory = {
    .name = "memory",
    .summary = "which stacks hold memory",
    .usage = "[options] FILE...",
    .description =
        "Adds up the memory in use at the dump by the call stack that allocated it, most first. A "
        "stack is shown by its innermost line outside PyTorch; --stack full prints all of it. "
        "--format folded prints one line a block for flamegraph.pl, the same lines as PyTorch's "
        "viewer, free blocks included.",
    .examples = "memtool memory snap.pickle                     who holds memory\n"
                "memtool memory --stack full -n 3 snap.pickle      the three largest, with stacks\n"
                "memtool memory --format folded snap.pickle     input for a flame graph",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_TABLE | MT_COMMAND_FIGURES | MT_COMMAND_FLAME,
    .settings_size = sizeof(struct memory_settings),
    .defaults = defaults,
    .min_files = 1,
    .max_files = -1,
    .run = run,
};

static void defaults(void *settings)
{
    struct memory_settings *o = settings;
    o->at.kind = MT_AT_END;
}

static enum mt_status add_device(struct mt_memory_devices *list, const struct mt_snapshot *s,
                                 struct mt_filtered *f, const struct mt_device_totals *d,
                                 const struct memory_settings *o, struct mt_error *err)
{
    struct mt_memory_device m = {.device = d->device, .counters = d->all};
    enum mt_status status = mt_stack_sums_find(&m.sums, s, f, d->device, err);
    mt_stack_sums_sort(&m.sums, (enum mt_stack_sort)o->sort, o->reverse);
    if (!mt_vec_push(&list->v, m)) {
        mt_stack_sums_release(&m.sums);
        return mt_fail_nomem(err);
    }
    return status;
}

/* The devices that the filter lets through, with their whole totals and filtered stacks. */
static enum mt_status collect(struct mt_memory_devices *list, const struct mt_snapshot *s,
                              struct mt_filtered *f, const struct memory_settings *o,
                              struct mt_error *err)
{
    struct mt_filter device_only;
    struct mt_filtered all;
    struct mt_totals t = {0};
    mt_filter_init(&device_only);
    device_only.device = f->filter->device;
    enum mt_status status = mt_filtered_init(&all, &device_only, s, err);
    if (status == MT_OK) {
        status = mt_totals_find(&t, s, &all, MT_TOTALS_HOST, err);
        mt_filtered_release(&all);
    }
    for (size_t i = 0; status == MT_OK && i < t.devices.n; i++) {
        if (t.devices.v[i].all.segments) {
            status = add_device(list, s, f, &t.devices.v[i], o, err);
        }
    }
    mt_totals_release(&t);
    mt_filter_release(&device_only);
    return status;
}

static enum mt_status report(const struct mt_report *r, const struct mt_snapshot *s,
                             struct mt_filtered *f, const struct mt_each_file *each,
                             struct mt_error *err)
{
    const struct memory_settings *o = each->settings;
    const struct mt_plot_format *picture = mt_flame_format(&o->base.common);
    if (picture) {
        return mt_flame_write_segments(r, picture, s, f, MT_FLAME_MEMORY, err);
    }
    if (o->format == 1) {
        return mt_report_folded(r, s, f, false, err);
    }
    struct mt_memory_devices devices = {0};
    enum mt_status status = collect(&devices, s, f, o, err);
    if (status == MT_OK) {
        status = mt_report_memory(r, s, &devices, each->several, err);
    }
    for (size_t i = 0; i < devices.v.n; i++) {
        mt_stack_sums_release(&devices.v.v[i].sums);
    }
    mt_vec_release(&devices.v);
    return status;
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct memory_settings *o = settings;
    struct mt_each_file each = {.report = report, .settings = o, .at = &o->at};
    each.raw = o->format == 1 || mt_flame_format(&o->base.common);
    int code = mt_flame_check(cli, &o->base.common, n_files);
    if (code == 0) {
        code = mt_cli_no_event_filters(cli, &o->base.filter, "memtool peak");
    }
    return code ? code
                : mt_cli_each_file(cli, &o->base.common, &o->base.filter, files, n_files, &each);
}
