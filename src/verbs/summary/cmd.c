/* SPDX-License-Identifier: MIT */
/* memtool summary: torch.cuda.memory_summary() from a snapshot, or out of logs. */
#include <errno.h>
#include <string.h>

#include "cli/slurp.h"
#include "heap/walk/cut_trace.h"
#include "heap/walk/query.h"
#include "snapshot/read/read.h"
#include "verbs/summary/print.h"
#include "verbs/summary/summary.h"
#include "cli/course_input.h"
#include "cli/frame.h"
#include "cli/logged_input.h"

struct summary_settings {
    struct mt_common common;
    int64_t device; /* -1: all */
    bool series;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);
static void defaults(void *settings);

static const struct mt_option OPTIONS[] = {
    MT_OPT_INT(0, "device", offsetof(struct summary_settings, device), "N", 0, 1023,
               "only this device", .common = true),
    MT_OPT_SERIES(offsetof(struct summary_settings, series)),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Options", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
};

const struct mt_command mt_cmd_summary = {
    .name = "summary",
    .summary = "the table of memory_summary() from a snapshot or out of logs",
    .usage = "[options] FILE...",
    .description =
        "From a snapshot: the table that torch.cuda.memory_summary() would have printed at that "
        "moment. Peaks and totals are there when the trace reaches back to the start of the "
        "process; cells that the file does not determine are blank. From a log with such tables: "
        "one row a table, with the change to the one before, and the first odd one marked. From "
        "two logs: the second against the first. Several files that are moments of one process: "
        "how "
        "live and reserved memory went, and which stacks grew.",
    .examples = "memtool summary snap.pickle             what memory_summary() would print\n"
                "memtool summary monday.log tuesday.log  how two runs differ",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_TABLE | MT_COMMAND_FIGURES,
    .settings_size = sizeof(struct summary_settings),
    .defaults = defaults,
    .min_files = 1,
    .max_files = -1,
    .run = run,
};

static void defaults(void *settings)
{
    struct summary_settings *x = settings;
    x->device = -1;
}

/* ---- input: a snapshot, else a log ---- */

struct input {
    bool is_log;
    struct mt_snapshot snapshot;
    struct mt_buf text; /* of the log; its tables are copies */
    struct mt_logged log;
};

static void input_release(struct input *in)
{
    if (!in->is_log) {
        mt_snapshot_release(&in->snapshot);
    }
    mt_logged_release(&in->log);
    mt_buf_release(&in->text);
}

/* Whether the file has a table in it; then *in is a log. */
static enum mt_status try_log(const char *file, struct input *in, struct mt_error *err)
{
    in->is_log = true;
    return mt_cli_logged_read(file, &in->text, &in->log, err);
}

static int open_input(struct mt_cli *cli, const struct mt_common *common, const char *file,
                      struct input *in)
{
    struct mt_error err;
    *in = (struct input){0};
    /* A pipe can be read once only: as a log when it has a table, else it is a snapshot. */
    bool once = mt_cli_reads_once(file);
    enum mt_status status = once ? mt_cli_slurp_file(file, MT_SLURP_MOST, &in->text, &err) : MT_OK;
    struct mt_read_options o = {.max_input = common->max_input,
                                .max_depth = (uint32_t)common->max_depth,
                                .max_events = common->max_events,
                                .salvage = common->salvage,
                                .hash_seed = cli->hash_seed};
    if (status == MT_OK) {
        status = once ? mt_snapshot_read_memory(in->text.p ? in->text.p : "", in->text.n, 0, &o,
                                                &in->snapshot, &err)
                      : mt_snapshot_read(file, &o, &in->snapshot, &err);
    }
    if (status == MT_OK && (mt_cli_check_told(cli, &in->snapshot, &err) != MT_OK ||
                            mt_snapshot_follow_trace(&in->snapshot, &err) != MT_OK)) {
        input_release(in);
        return mt_cli_fail(cli, file, &err);
    }
    if (status == MT_OK) {
        return mt_cli_note_damage(cli, common, file, &in->snapshot) ? 4 : 0;
    }
    struct mt_error log_err;
    bool may_be_log = status == MT_FORMAT || status == MT_UNSUPPORTED;
    in->is_log = true;
    enum mt_status log = may_be_log ? try_log(file, in, &log_err) : status;
    if (log == MT_OK && in->log.tables.n) {
        return 0;
    }
    if (may_be_log && (log == MT_LIMIT || log == MT_NOMEM || log == MT_IO)) {
        err = log_err;
    } else if (may_be_log && mt_text_is_log(mt_buf_view(&in->text))) {
        mt_fail(&err, MT_FORMAT, MT_NO_OFFSET, "no table of memory_summary() is in this log");
        mt_hint(&err, "what else it tells of an out-of-memory error: memtool triage %.150s", file);
    } else if (may_be_log && !err.hint[0]) {
        mt_hint(&err, "a log is read too when it holds a table of torch.cuda.memory_summary()");
    }
    input_release(in);
    return mt_cli_fail(cli, file, &err);
}

/* ---- reports ---- */

struct summaries {
    MT_VEC(struct mt_summary) list;
};

/* `device` -1: of all. */
static enum mt_status find_summaries(struct summaries *x, const struct mt_snapshot *s,
                                     int64_t device, struct mt_error *err)
{
    struct mt_filter open;
    mt_filter_init(&open);
    struct mt_filtered all = {.filter = &open, .snapshot = s};
    struct mt_totals totals;
    enum mt_status status = mt_totals_find(&totals, s, &all, 0, err);
    for (size_t i = 0; status == MT_OK && i < totals.devices.n; i++) {
        struct mt_summary one;
        if (device >= 0 && totals.devices.v[i].device != device) {
            continue;
        }
        status = mt_summary_find(&one, s, &totals, totals.devices.v[i].device, err);
        if (status == MT_OK && !mt_vec_push(&x->list, one)) {
            status = mt_fail_nomem(err);
        }
    }
    mt_totals_release(&totals);
    return status;
}

static enum mt_status report_snapshot(const struct mt_report *r, const struct mt_snapshot *s,
                                      int64_t device, bool one_line, struct mt_error *err)
{
    if (r->separator && !r->json) {
        (void)mt_fail(err, MT_USAGE, MT_NO_OFFSET,
                      "the summary of a snapshot is PyTorch's drawing, which is no table");
        mt_hint(err, "memtool summary --json is for programs, memtool stats --csv has a table");
        return MT_USAGE;
    }
    struct summaries x = {0};
    enum mt_status status = find_summaries(&x, s, device, err);
    if (status == MT_OK && device >= 0 && !x.list.n) {
        status = mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
                         "device %d has neither segments nor events in this file", (int)device);
    }
    if (status == MT_OK && r->json) {
        status = mt_report_summary_json(r, x.list.v, x.list.n, one_line, err);
    } else if (status == MT_OK) {
        mt_report_summary_text(r, x.list.v, x.list.n);
    }
    mt_vec_release(&x.list);
    return status;
}

/* Leaves only tables of the device. */
static void keep_device(struct mt_logged *l, int64_t device)
{
    size_t n = 0;
    for (size_t i = 0; i < l->tables.n; i++) {
        if (device < 0 || l->tables.v[i].device == device) {
            l->tables.v[n++] = l->tables.v[i];
        }
    }
    l->tables.n = n;
}

static int report_input(struct mt_cli *cli, const struct summary_settings *x,
                        const struct mt_report *r, struct input *in, bool several)
{
    struct mt_error err;
    enum mt_status status;
    if (!in->is_log) {
        status = report_snapshot(r, &in->snapshot, x->device, several, &err);
    } else if (r->json) {
        status = mt_report_logged_json(r, &in->log, several, &err);
    } else {
        status = mt_report_logged_text(r, &in->log, &err);
    }
    return status == MT_OK ? 0 : mt_cli_fail(cli, r->file, &err);
}

static void print_name(const struct mt_report *r)
{
    fprintf(r->out, "%s==> ", mt_color_begin(r, MT_COLOR_HEAD));
    mt_text_put(r, r->file);
    fprintf(r->out, " <==%s\n", mt_color_end(r));
}

static bool is_usable(int exit_code)
{
    return exit_code == 0 || exit_code == 4;
}

/* Prints one of several inputs under its name. `opened`: what opening it gave. */
static int report_one(struct mt_cli *cli, const struct summary_settings *x,
                      const struct mt_report *r, const char *file, struct input *in, int opened,
                      bool is_first)
{
    if (!is_usable(opened)) {
        return opened;
    }
    struct mt_report here = *r;
    here.file = file;
    keep_device(&in->log, x->device);
    if (!r->json && !r->separator) {
        fputs(is_first ? "" : "\n", r->out);
        print_name(&here);
    }
    int printed = report_input(cli, x, &here, in, true);
    return printed ? printed : opened;
}

/* Two logs in text are set side by side. */
static int report_two(struct mt_cli *cli, const struct summary_settings *x,
                      const struct mt_report *r, char **files)
{
    struct input in[2];
    struct mt_error err;
    int opened[2];
    int exit_code = 0;
    for (int i = 0; i < 2; i++) {
        opened[i] = open_input(cli, &x->common, files[i], &in[i]);
    }
    bool both_logs = opened[0] == 0 && opened[1] == 0 && in[0].is_log && in[1].is_log;
    if (both_logs && !r->json) {
        keep_device(&in[0].log, x->device);
        keep_device(&in[1].log, x->device);
        enum mt_status status = mt_report_logged_pair_text(r, &in[0].log, &in[1].log, &err);
        exit_code = status == MT_OK ? 0 : mt_cli_fail(cli, NULL, &err);
    }
    for (int i = 0; i < 2; i++) {
        if (!both_logs || r->json) {
            int one = report_one(cli, x, r, files[i], &in[i], opened[i], i == 0);
            exit_code = exit_code ? exit_code : one;
        }
        if (is_usable(opened[i])) {
            input_release(&in[i]);
        }
    }
    return exit_code;
}

static int report_files(struct mt_cli *cli, const struct summary_settings *x,
                        const struct mt_report *r, char **files, size_t n)
{
    int exit_code = 0;
    if (n == 2) {
        return report_two(cli, x, r, files);
    }
    for (size_t i = 0; i < n; i++) {
        struct input in;
        int one = open_input(cli, &x->common, files[i], &in);
        bool usable = is_usable(one);
        if (n > 1) {
            one = report_one(cli, x, r, files[i], &in, one, i == 0);
        } else if (usable) {
            keep_device(&in.log, x->device);
            int printed = report_input(cli, x, r, &in, false);
            one = printed ? printed : one;
        }
        if (usable) {
            input_release(&in);
        }
        exit_code = exit_code ? exit_code : one;
    }
    return exit_code;
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    const struct summary_settings *x = settings;
    struct mt_course_call series = {.must = x->series};
    struct mt_report r;
    struct mt_cli_output o;
    int code;
    if (mt_cli_course(cli, &x->common, files, n_files, &series, &code)) {
        return code;
    }
    int exit_code = mt_cli_report_begin(cli, &x->common, files[0], &r, &o);
    if (exit_code) {
        return exit_code;
    }
    return mt_cli_report_end(cli, &o, report_files(cli, x, &r, files, n_files));
}
