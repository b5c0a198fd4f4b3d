/* SPDX-License-Identifier: MIT */
/* memtool conf: is this PYTORCH_CUDA_ALLOC_CONF right? */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame.h"
#include "cli/slurp.h"
#include "heap/sums/account.h"
#include "heap/walk/query.h"
#include "snapshot/model/settings.h"
#include "snapshot/read/read.h"
#include "support/units.h"
#include "verbs/conf/print.h"

struct conf_settings {
    struct mt_common common;
    const char *torch, *cuda;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);

#define AT(field) offsetof(struct conf_settings, field)

static const struct mt_option OPTIONS[] = {
    MT_OPT_TEXT(
        0, "torch", AT(torch), "VERSION",
        "the PyTorch release that is to read it (default: the newest known, 2.13; of a snapshot "
        "the newest that can have written it; of memtool's allocator 2.11, as it reads)",
        .common = true),
    MT_OPT_TEXT(0, "cuda", AT(cuda), "VERSION", "the CUDA release that PyTorch was built with",
                .common = true),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Options", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
};

const struct mt_command mt_cmd_conf = {
    .name = "conf",
    .summary = "is this PYTORCH_CUDA_ALLOC_CONF right?",
    .usage = "[options] [SETTINGS | FILE]",
    .description =
        "Reads allocator settings exactly as the named PyTorch release would, its errors included, "
        "and explains what each key does, when it pays and what has no effect. The settings are "
        "given as text, or taken from a snapshot or a log, or without an argument from the "
        "environment. Exits with 1 when PyTorch refuses them.",
    .examples =
        "memtool conf max_split_size_mb:128              explain this\n"
        "memtool conf snap.pickle                        what was in force when it was recorded",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .settings_size = sizeof(struct conf_settings),
    .max_files = 1,
    .run = run,
};

enum { MOST_LOG = (int)(64 * MT_MIB) };

/* Where the settings came from, and what keeps them alive. */
struct subject {
    struct mt_str text;
    const char *source, *variable;
    struct mt_snapshot snapshot;
    bool has_snapshot, memtools;
    struct mt_buf log;
    struct mt_conf_origin origin;
};

static void read_environment(struct subject *x, mt_torch_release release)
{
    struct mt_conf_origin *o = &x->origin;
    o->from_environment = true;
    for (size_t v = 0; v < MT_CONF_VARIABLE_COUNT; v++) {
        o->values[v] = getenv(mt_conf_variable_name((enum mt_conf_variable)v));
    }
    o->caching_is_off = getenv("PYTORCH_NO_CUDA_MEMORY_CACHING") != NULL;
    enum mt_conf_variable read = mt_conf_variable_read(release, o->values);
    x->source = "environment";
    if (read != MT_CONF_VARIABLE_COUNT) {
        x->variable = mt_conf_variable_name(read);
        x->text = mt_str_from(o->values[read]);
    }
}

static enum mt_status read_log(struct subject *x, FILE *f, struct mt_error *err)
{
    enum mt_conf_variable variable;
    MT_TRY(mt_cli_slurp(f, MOST_LOG, &x->log, err));
    x->source = "log";
    if (!mt_conf_find(mt_buf_view(&x->log), &x->text, &variable)) {
        return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET,
                       "neither a snapshot nor a log that sets PYTORCH_CUDA_ALLOC_CONF");
    }
    x->variable = mt_conf_variable_name(variable);
    return MT_OK;
}

/* What is in the snapshot, and who read it there. */
static enum mt_status take_settings(struct subject *x, struct mt_error *err)
{
    struct mt_settings settings;
    struct mt_recorded recorded;
    mt_settings_get(&x->snapshot, 0, &settings);
    mt_recorded_find(&recorded, &x->snapshot);
    if (!settings.conf.p) {
        return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET, "%s",
                       recorded.watched
                           ? "this snapshot does not hold an allocator's settings (memtool capture "
                             "--mode record watches the driver, not an allocator)"
                           : "this snapshot does not hold its allocator settings (PyTorch 2.3 and "
                             "later write them)");
    }
    x->source = "snapshot";
    x->text = settings.conf;
    x->variable = settings.conf.n ? mt_conf_variable_of(&x->snapshot) : NULL;
    x->memtools = recorded.cached || recorded.live;
    return MT_OK;
}

static enum mt_status read_file(struct mt_cli *cli, const struct mt_common *common,
                                struct subject *x, const char *file, FILE *f, struct mt_error *err)
{
    struct mt_read_options o = {.max_input = common->max_input,
                                .max_depth = (uint32_t)common->max_depth,
                                .max_events = common->max_events,
                                .hash_seed = cli->hash_seed};
    bool once = mt_cli_reads_once(file);
    if (once) {
        MT_TRY(mt_cli_slurp(f, MOST_LOG, &x->log, err));
    }
    enum mt_status status =
        once ? mt_snapshot_read_memory(x->log.p ? x->log.p : "", x->log.n, 0, &o, &x->snapshot, err)
             : mt_snapshot_read(file, &o, &x->snapshot, err);
    if (status == MT_NOMEM || status == MT_IO) {
        return status;
    }
    if (status != MT_OK) {
        return read_log(x, f, err);
    }
    x->has_snapshot = true;
    MT_TRY(mt_cli_check_told(cli, &x->snapshot, err));
    return take_settings(x, err);
}

/* What was meant as a file: settings have a ':', and neither '/' nor a suffix. */
static bool looks_like_a_file(struct mt_str s)
{
    static const char *const suffixes[] = {".pickle", ".pkl", ".json", ".gz",
                                           ".log",    ".txt", ".out"};
    bool file = mt_str_find(s, MT_STR("/")) != SIZE_MAX;
    for (size_t i = 0; i < MT_COUNT(suffixes); i++) {
        file |= mt_str_ends(s, mt_str_from(suffixes[i]));
    }
    return file && mt_str_find(s, MT_STR(":")) == SIZE_MAX;
}

static int find_settings(struct mt_cli *cli, const struct conf_settings *c, struct subject *x,
                         mt_torch_release release, char **files, size_t n_files)
{
    struct mt_error err;
    if (n_files == 0) {
        read_environment(x, release);
        return 0;
    }
    FILE *f = strcmp(files[0], "-") == 0 ? stdin : fopen(files[0], "rb");
    if (!f && errno == ENOMEM) {
        mt_fail_nomem(&err);
        return mt_cli_fail(cli, files[0], &err);
    }
    if (!f && looks_like_a_file(mt_str_from(files[0]))) {
        mt_fail(&err, MT_IO, MT_NO_OFFSET, "cannot open: %s", strerror(errno));
        return mt_cli_fail(cli, files[0], &err);
    }
    if (!f) {
        x->source = "argument";
        mt_conf_unassign(mt_str_from(files[0]), &x->text, &x->variable);
        x->memtools = x->variable && strcmp(x->variable, "MEMTOOL_ALLOC_CONF") == 0;
        return 0;
    }
    enum mt_status status = read_file(cli, &c->common, x, files[0], f, &err);
    if (f != stdin) {
        fclose(f);
    }
    return status == MT_OK ? 0 : mt_cli_fail(cli, files[0], &err);
}

/* A longer text is no environment variable's; "PyTorch refuses them" would be a guess. */
static int check_length(struct mt_cli *cli, struct mt_str text, const char *file)
{
    struct mt_error err;
    if (text.n <= MT_CONF_LONGEST) {
        return 0;
    }
    mt_fail(&err, MT_LIMIT, MT_NO_OFFSET, "the settings have %zu bytes; at most %d are read",
            text.n, MT_CONF_LONGEST);
    return mt_cli_fail(cli, file, &err);
}

static int report(struct mt_cli *cli, const struct conf_settings *c, const struct subject *x,
                  mt_torch_release release, const char *file)
{
    struct mt_error err;
    struct mt_report r;
    struct mt_cli_output o;
    struct mt_conf conf;
    struct mt_conf_warnings warnings;
    bool recorded = x->has_snapshot && !c->torch; /* else it is asked what that release would do */
    (recorded ? mt_conf_parse_recorded : mt_conf_parse)(x->text, release, &conf);
    mt_conf_warn(x->text, &conf, release, &x->origin, &warnings);
    int exit_code = mt_cli_report_begin(cli, &c->common, file, &r, &o);
    if (exit_code) {
        return exit_code;
    }
    struct mt_conf_result result = {.text = x->text,
                                    .source = x->source,
                                    .variable = x->variable,
                                    .memtools = x->memtools,
                                    .recorded = recorded,
                                    .release = release,
                                    .conf = &conf,
                                    .warnings = &warnings};
    enum mt_status status =
        r.json ? mt_report_conf_json(&r, &result, &err) : mt_report_conf_text(&r, &result, &err);
    exit_code = status == MT_OK ? !conf.valid : mt_cli_fail(cli, NULL, &err);
    return mt_cli_report_end(cli, &o, exit_code);
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    const struct conf_settings *c = settings;
    mt_torch_release release = MT_TORCH_NEWEST, cuda;
    struct subject x = {.text = MT_STR("")};
    if (c->torch && !mt_torch_release_parse(mt_str_from(c->torch), &release)) {
        return mt_cli_usage(cli, "conf: --torch: '%s' is no release such as 2.11", c->torch);
    }
    if (c->cuda) {
        if (!mt_torch_release_parse(mt_str_from(c->cuda), &cuda)) {
            return mt_cli_usage(cli, "conf: --cuda: '%s' is no release such as 12.4", c->cuda);
        }
        x.origin.has_cuda = true;
        x.origin.cuda = cuda;
    }
    int exit_code = find_settings(cli, c, &x, release, files, n_files);
    if (x.memtools && !c->torch) {
        release = MT_TORCH_MEMTOOL;
    } else if (x.has_snapshot && !c->torch) {
        release = mt_settings_release(&x.snapshot, release);
    }
    mt_cli_note_release(cli, &c->common, release);
    if (exit_code == 0) {
        exit_code = check_length(cli, x.text, n_files ? files[0] : "environment");
    }
    if (exit_code == 0) {
        exit_code = report(cli, c, &x, release, n_files ? files[0] : "environment");
    }
    if (x.has_snapshot) {
        mt_snapshot_release(&x.snapshot);
    }
    mt_buf_release(&x.log);
    return exit_code;
}
