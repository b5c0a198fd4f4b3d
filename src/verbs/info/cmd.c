/* SPDX-License-Identifier: MIT */
/* info: what is this file, can I trust it, what do I run next. */
#include "cli/each_file.h"
#include "verbs/info/print.h"

struct info_settings {
    struct mt_common common;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);

const struct mt_command mt_cmd_info = {
    .name = "info",
    .summary = "what this file is, and whether to trust it",
    .usage = "[options] FILE...",
    .description =
        "Says what a file is: format, the PyTorch that wrote it (told from its keys), devices, "
        "events and the time they cover, settings; what limits its figures (a "
        "recording that overflowed, memory older than the first event, no stacks, sizes that do "
        "not add up); and the command to run next. Of files beside snapshots (memory_stats() as a "
        "program kept it, traces and memory timelines of torch.profiler, the log of RMM) also what "
        "can be asked.",
    .examples = "memtool info snap.pickle\n"
                "memtool info -v snap.pickle            every allocator setting too",
    .settings_size = sizeof(struct info_settings),
    .flags = MT_COMMAND_FIGURES,
    .min_files = 1,
    .max_files = -1,
    .run = run,
};

static enum mt_status report(const struct mt_report *r, const struct mt_snapshot *s,
                             struct mt_filtered *f, const struct mt_each_file *each,
                             struct mt_error *err)
{
    struct mt_totals t = {0};
    struct mt_trust trust = {0};
    struct mt_accounts accounts = {0};
    struct mt_info x = {s, &t, &accounts, &trust};
    enum mt_status status = mt_totals_find(&t, s, f, MT_TOTALS_HOST, err);
    if (status == MT_OK) {
        status = mt_trust_find(&trust, s, &t, err);
    }
    if (status == MT_OK) {
        status = mt_accounts_find(&accounts, s, NULL, err);
    }
    if (status == MT_OK) {
        status = mt_report_info(r, &x, each->several, err);
    }
    mt_accounts_release(&accounts);
    mt_trust_release(&trust);
    mt_totals_release(&t);
    return status;
}

static enum mt_status report_logged(const struct mt_report *r, const struct mt_logged *l,
                                    const struct mt_each_file *each, struct mt_error *err)
{
    return mt_report_info_logged(r, l, each->several, err);
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct info_settings *o = settings;
    struct mt_filter everything;
    struct mt_each_file each = {.report = report, .logged = report_logged, .settings = o};
    mt_filter_init(&everything);
    int code = mt_cli_each_file(cli, &o->common, &everything, files, n_files, &each);
    mt_filter_release(&everything);
    return code;
}
