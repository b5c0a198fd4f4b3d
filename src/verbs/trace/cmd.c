/* SPDX-License-Identifier: MIT */
/* trace: what happened, in order. */
#include "cli/each_file.h"
#include "snapshot/write/sink.h"
#include "heap/walk/query.h"
#include "print/labels.h"
#include "verbs/trace/print.h"

struct trace_settings {
    struct mt_common common;
    uint64_t max_output; /* bytes of JSON of a file, 0 = no limit, MT_MAX_OUTPUT_AUTO */
    struct mt_filter filter;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);
static void defaults(void *settings);

static const struct mt_option OPTIONS[] = {
    MT_OPT_SIZE(0, "max-output", offsetof(struct trace_settings, max_output), "SIZE",
                "--json: stop when the events of a file grow beyond SIZE, 0 = no limit (default: "
                "256 times what was read, at least 256MiB)"),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Listing", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
    MT_FILTER_GROUP(struct trace_settings),
};

const struct mt_command mt_cmd_trace = {
    .name = "trace",
    .summary = "what happened, in order",
    .usage = "[options] FILE...",
    .description =
        "Lists the recorded events as a small program: a = s0[0:1.0MiB] allocates in segment s0, "
        "del a frees; names are used again when their owner is gone. Beside each stands how much "
        "is alive after it, memory from before the first event included, and who did it. A free "
        "is one line unless another stream still used the memory; -v prints both events. --json "
        "prints one object a line.",
    .examples = "memtool trace --events 100:200 snap.pickle       a window\n"
                "memtool trace --size 1GiB: --live snap.pickle     large ones, never freed\n"
                "memtool trace --csv snap.pickle > trace.csv",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .settings_size = sizeof(struct trace_settings),
    .defaults = defaults,
    .min_files = 1,
    .max_files = -1,
    .flags = MT_COMMAND_PAGER | MT_COMMAND_TABLE | MT_COMMAND_FIGURES,
    .run = run,
};

static void defaults(void *settings)
{
    struct trace_settings *o = settings;
    o->max_output = MT_MAX_OUTPUT_AUTO;
}

static enum mt_status list_device(const struct mt_report *r, struct mt_trace_listing *l,
                                  int32_t device, struct mt_error *err)
{
    struct mt_replay replay;
    MT_TRY(mt_replay_init(&replay, l->snapshot, device, err));
    l->replay = &replay;
    enum mt_status status = mt_report_trace(r, l, err);
    mt_replay_release(&replay);
    return status;
}

static enum mt_status report(const struct mt_report *r, const struct mt_snapshot *s,
                             struct mt_filtered *f, const struct mt_each_file *each,
                             struct mt_error *err)
{
    const struct trace_settings *o = each->settings;
    struct mt_trace_listing l = {.snapshot = s,
                                 .filter = f,
                                 .limit = o->common.limit > 0 ? (size_t)o->common.limit : 0,
                                 .all = o->common.verbose > 0,
                                 .max_bytes = mt_max_output(o->max_output, s)};
    struct mt_devices devices;
    size_t listed = 0;
    enum mt_status status = mt_devices_find(&devices, s, true, err);
    if (status == MT_OK) {
        status = mt_report_trace_begin(r, s, err);
    }
    for (size_t i = 0; status == MT_OK && i < devices.ids.n; i++) {
        int32_t device = devices.ids.v[i];
        if (mt_device_trace(s, device).n == 0 || !mt_filtered_device(f, device)) {
            continue;
        }
        if (listed++ && !r->json && !r->separator) {
            fputc('\n', r->out);
        }
        status = list_device(r, &l, device, err);
    }
    if (status == MT_OK && !listed && !r->json && !r->separator) {
        struct mt_buf name = {0};
        mt_text_safe(&name, mt_str_from(r->file));
        mt_report_line(r, 2, "%s: no events: the history was not recorded (%s switches it on)",
                       mt_buf_view(&name).p, mt_history_switch(s));
        status = name.failed ? mt_fail_nomem(err) : MT_OK;
        mt_buf_release(&name);
    }
    mt_devices_release(&devices);
    return status;
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct trace_settings *o = settings;
    struct mt_each_file each = {.report = report, .settings = o};
    return mt_cli_each_file(cli, &o->common, &o->filter, files, n_files, &each);
}
