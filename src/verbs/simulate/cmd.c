/* SPDX-License-Identifier: MIT */
/* memtool simulate: would that setting have helped? */
#include <string.h>

#include "cli/command.h"
#include "cli/frame.h"
#include "heap/sums/account.h"
#include "print/labels.h"
#include "snapshot/model/settings.h"
#include "snapshot/write/write.h"
#include "verbs/conf/conf_explain.h"
#include "verbs/simulate/edits/edit_list.h"
#include "verbs/simulate/print.h"

struct simulate_settings {
    struct mt_common common;
    struct mt_texts confs;
    struct mt_texts edits[MT_SIM_EDITS]; /* by enum mt_sim_edit_kind */
    uint64_t limit, capacity;
    int64_t device;
    const char *torch;
    bool no_what_if, search;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);
static void defaults(void *settings);

#define AT(field) offsetof(struct simulate_settings, field)

static const struct mt_option OPTIONS[] = {
    MT_OPT_TEXTS(0, "conf", AT(confs), "SETTINGS",
                 "replay under these settings, written as in PYTORCH_CUDA_ALLOC_CONF; repeatable; "
                 "without it the settings worth trying are chosen",
                 .common = true),
    MT_OPT_SIZE(0, "limit", AT(limit), "SIZE",
                "PyTorch's own limit for the process (the memory fraction, in bytes)",
                .memory = true, .min = 1, .max = MT_ANY_SIZE, .common = true),
    MT_OPT_SIZE(0, "capacity", AT(capacity), "SIZE", "bytes that the driver can give this process",
                .memory = true, .min = 1, .max = MT_ANY_SIZE, .common = true),
    MT_OPT_TEXTS(
        0, "recompute", AT(edits[MT_SIM_RECOMPUTE]), "REGEX",
        "as if the calls of the functions that match \"file:line name\" were checkpointed: "
        "what they keep is made again in the backward pass"),
    MT_OPT_TEXTS(0, "offload", AT(edits[MT_SIM_OFFLOAD]), "REGEX",
                 "as if what these calls keep were moved to the host until the backward pass"),
    MT_OPT_TEXTS(0, "free-early", AT(edits[MT_SIM_FREE_EARLY]), "REGEX",
                 "as if what these calls keep were freed when they end"),
    MT_OPT_TEXTS(0, "scale", AT(edits[MT_SIM_SCALE]), "REGEX=FACTOR",
                 "as if allocations whose stack matches had FACTOR times their size"),
    MT_OPT_TEXTS(0, "drop", AT(edits[MT_SIM_DROP]), "REGEX",
                 "as if allocations whose stack matches were never made"),
    MT_OPT_INT(0, "device", AT(device), "N", 0, 65535, "only this device"),
    MT_OPT_TEXT(
        0, "torch", AT(torch), "VERSION",
        "follow the allocator of this PyTorch release (default: 2.11, or later if the file is)"),
    MT_OPT_FLAG(0, "search", AT(search), "try all sensible settings, and show the best"),
    MT_OPT_FLAG(0, "no-what-if", AT(no_what_if), "replay the recorded settings only"),
    MT_OPT_TEXT('o', "output", offsetof(struct mt_common, output), "FILE",
                "write the run of the last --conf, or without one that of the recorded settings, "
                "as a snapshot",
                .common = true),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Options", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
};

const struct mt_command mt_cmd_simulate = {
    .name = "simulate",
    .summary = "would that setting have helped?",
    .usage = "[options] FILE",
    .description =
        "Replays a recording through PyTorch's caching allocator, rebuilt in memtool: first under "
        "the settings that it was made with, to show how exactly the replay matches, then under "
        "other settings. Each run says what would have been reserved at the peak, how often the "
        "driver would have been called, and whether the program would have fitted. The same "
        "requests and frees are replayed; nothing is scaled or guessed.",
    .examples =
        "memtool simulate snap.pickle                                 what is worth trying\n"
        "memtool simulate --conf expandable_segments:True snap.pickle  one setting",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_TABLE | MT_COMMAND_FIGURES | MT_COMMAND_SNAPSHOT,
    .settings_size = sizeof(struct simulate_settings),
    .defaults = defaults,
    .min_files = 1,
    .max_files = 1,
    .run = run,
};

enum { MOST_CANDIDATES = 16 };

static void defaults(void *settings)
{
    struct simulate_settings *x = settings;
    x->device = -1;
}

/* ---- the runs of one device ---- */

struct device_runs {
    int32_t device;
    struct mt_sim_edit *edits; /* work.n_edits of them, made */
    struct mt_sim *sim;
    struct mt_packing ideal[2]; /* of the recorded program, of the edited one */
    MT_VEC(struct mt_sim_run) runs;
    bool chosen;
    size_t tried; /* settings that a search went through */
    bool tried_all;
};

struct work {
    struct mt_cli *cli;
    const struct simulate_settings *x;
    const struct mt_snapshot *snapshot;
    struct mt_sim_options options;
    const struct mt_conf *confs;     /* parsed, one for each of x->confs */
    const struct mt_sim_edit *edits; /* asked for */
    size_t n_edits;
    MT_VEC(struct device_runs) devices;
    struct mt_sim_output output;
    bool has_output;
};

static void work_release(struct work *w)
{
    for (size_t i = 0; i < w->devices.n; i++) {
        struct device_runs *d = &w->devices.v[i];
        for (size_t k = 0; k < d->runs.n; k++) {
            mt_sim_run_release(&d->runs.v[k]);
        }
        mt_vec_release(&d->runs);
        mt_mem_free(d->edits);
        mt_sim_free(d->sim);
    }
    mt_vec_release(&w->devices);
    if (w->has_output) {
        mt_view_release(&w->output.view);
    }
}

/* Keeps the first device that has this run. */
static struct mt_sim_output *output_for(struct work *w, bool last)
{
    return w->x->common.output && last && !w->has_output ? &w->output : NULL;
}

static enum mt_status keep_run(struct work *w, struct device_runs *d, struct mt_sim_run *run,
                               const struct mt_sim_output *output, enum mt_status status,
                               struct mt_error *err)
{
    w->has_output |= status == MT_OK && output != NULL;
    if (status == MT_OK && !mt_vec_push(&d->runs, *run)) {
        status = mt_fail_nomem(err);
    }
    if (status != MT_OK) {
        mt_sim_run_release(run);
    }
    return status;
}

static enum mt_status replay(struct work *w, struct device_runs *d, struct mt_error *err)
{
    struct mt_sim_run run;
    struct mt_sim_output *output = output_for(w, w->x->confs.n == 0);
    enum mt_status status = mt_sim_replay(d->sim, &run, output, err);
    return keep_run(w, d, &run, output, status, err);
}

/* The settings may be pasted with the name of their variable. */
static struct mt_str conf_text(const char *given)
{
    struct mt_str conf;
    const char *variable;
    mt_conf_unassign(mt_str_from(given), &conf, &variable);
    return conf;
}

static enum mt_status what_if(struct work *w, struct device_runs *d,
                              const struct mt_alloc_settings *settings, struct mt_str conf,
                              bool last, struct mt_error *err)
{
    struct mt_sim_run run;
    struct mt_sim_output *output = output_for(w, last);
    enum mt_status status = mt_sim_what_if(d->sim, settings, conf, &run, output, err);
    return keep_run(w, d, &run, output, status, err);
}

static enum mt_status try_candidates(struct work *w, struct device_runs *d, struct mt_error *err)
{
    struct mt_sim_candidate list[MOST_CANDIDATES];
    size_t n = mt_sim_candidates(d->sim, &d->runs.v[0], list, MOST_CANDIDATES);
    d->chosen = true;
    for (size_t i = 0; i < n; i++) {
        struct mt_conf conf;
        struct mt_str text = mt_str_from(list[i].conf);
        mt_conf_parse(text, mt_sim_release(d->sim), &conf);
        MT_TRY(what_if(w, d, &conf.settings, text, false, err));
    }
    return MT_OK;
}

/* The best ones become runs of their own. */
static enum mt_status search(struct device_runs *d, struct mt_error *err)
{
    struct mt_sim_search found;
    enum mt_status status = mt_sim_search(d->sim, &found, err);
    d->tried = found.tried;
    d->tried_all = found.all;
    for (size_t i = 0; status == MT_OK && i < found.n; i++) {
        if (!mt_vec_push(&d->runs, found.best[i].run)) {
            status = mt_fail_nomem(err);
            break;
        }
        found.best[i].run = (struct mt_sim_run){.recorded = false}; /* it has another owner now */
    }
    mt_sim_search_release(&found);
    return status;
}

static enum mt_status try_given(struct work *w, struct device_runs *d, struct mt_error *err)
{
    for (size_t i = 0; i < w->x->confs.n; i++) {
        MT_TRY(what_if(w, d, &w->confs[i].settings, conf_text(w->x->confs.v[i]),
                       i + 1 == w->x->confs.n, err));
    }
    return MT_OK;
}

/* Changes the program for all runs that follow. */
static enum mt_status edit(struct work *w, struct device_runs *d, struct mt_error *err)
{
    d->edits = mt_mem_alloc(w->n_edits, sizeof *d->edits);
    if (!d->edits) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < w->n_edits; i++) {
        d->edits[i] = w->edits[i];
        MT_TRY(mt_sim_make_edit(d->sim, &d->edits[i], err));
    }
    return MT_OK;
}

static enum mt_status simulate_device(struct work *w, int32_t device, struct mt_error *err)
{
    struct device_runs d = {.device = device};
    MT_TRY(mt_sim_load(w->snapshot, device, &w->options, &d.sim, err));
    if (mt_sim_events(d.sim) == 0) {
        mt_sim_free(d.sim);
        return MT_OK;
    }
    if (!mt_vec_push(&w->devices, d)) {
        mt_sim_free(d.sim);
        return mt_fail_nomem(err);
    }
    struct device_runs *kept = &w->devices.v[w->devices.n - 1];
    MT_TRY(replay(w, kept, err));
    MT_TRY(mt_sim_ideal(kept->sim, &kept->ideal[0], err));
    MT_TRY(edit(w, kept, err));
    if (w->n_edits) {
        MT_TRY(mt_sim_ideal(kept->sim, &kept->ideal[1], err));
        MT_TRY(what_if(w, kept, mt_sim_settings(kept->sim), mt_sim_conf(kept->sim), false, err));
    }
    if (w->x->search) {
        MT_TRY(search(kept, err));
    }
    if (w->x->confs.n || w->n_edits || w->x->search) {
        return try_given(w, kept, err);
    }
    return w->x->no_what_if ? MT_OK : try_candidates(w, kept, err);
}

static enum mt_status simulate_all(struct work *w, struct mt_error *err)
{
    for (size_t i = 0; i < w->snapshot->n_traces && i <= INT32_MAX; i++) {
        if (w->x->device < 0 || (size_t)w->x->device == i) {
            MT_TRY(simulate_device(w, (int32_t)i, err));
        }
    }
    return MT_OK;
}

/* ---- output ---- */

static enum mt_status report(const struct work *w, const char *file, struct mt_error *err)
{
    const struct mt_common *common = &w->x->common;
    struct mt_report r = mt_cli_report(w->cli, common, file);
    size_t n = w->devices.n;
    struct mt_sim_result *results = mt_mem_zalloc(n + 1, sizeof *results);
    if (!results) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        const struct device_runs *d = &w->devices.v[i];
        results[i] = (struct mt_sim_result){.device = d->device,
                                            .sim = d->sim,
                                            .runs = d->runs.v,
                                            .n_runs = d->runs.n,
                                            .ideal = d->ideal,
                                            .chosen = d->chosen,
                                            .tried = d->tried,
                                            .tried_all = d->tried_all,
                                            .edits = d->edits,
                                            .n_edits = w->n_edits,
                                            .variable = mt_conf_variable_of(w->snapshot),
                                            .watched = w->options.watched};
    }
    enum mt_status status;
    if (r.json) {
        status = mt_report_simulate_json(&r, results, n, err);
    } else if (n == 0 && !r.separator) {
        mt_report_simulate_nothing(&r, w->snapshot);
        status = MT_OK;
    } else {
        status = r.separator ? mt_report_simulate_csv(&r, results, n, err)
                             : mt_report_simulate_text(&r, results, n, err);
    }
    mt_mem_free(results);
    return status;
}

static enum mt_status write_run(const struct work *w, FILE *to, struct mt_error *err)
{
    struct mt_str name = mt_str_from(w->x->common.output);
    bool gzip = mt_str_ends(name, MT_STR(".gz"));
    name.n -= gzip ? 3 : 0;
    struct mt_write_options o = {.format = mt_str_ends(name, MT_STR(".json")) ? MT_WRITE_JSON
                                                                              : MT_WRITE_PICKLE,
                                 .protocol = MT_PICKLE_PROTOCOL,
                                 .gzip = gzip};
    return mt_snapshot_write(&w->output.view.s, &o, to, err);
}

/* Writes the run to a temporary file; it is put in place when the report is out too. */
static int begin_output(struct work *w, struct mt_cli_output *o, struct mt_error *err)
{
    const struct mt_common *common = &w->x->common;
    if (mt_cli_output_open(w->cli, common, common->output, o, err) != MT_OK) {
        return mt_cli_fail(w->cli, NULL, err);
    }
    if (write_run(w, o->stream, err) != MT_OK) {
        mt_cli_output_abandon(o);
        return mt_cli_fail(w->cli, common->output, err);
    }
    return 0;
}

static int report_and_save(struct work *w, const char *file)
{
    struct mt_error err;
    struct mt_cli_output o = {0};
    bool saves = w->x->common.output && w->has_output;
    bool to_stdout = saves && strcmp(w->x->common.output, "-") == 0;
    int exit_code = saves ? begin_output(w, &o, &err) : 0;
    if (exit_code) {
        return exit_code;
    }
    if (!to_stdout && report(w, file, &err) != MT_OK) {
        exit_code = mt_cli_fail(w->cli, file, &err);
    }
    if (saves && exit_code) {
        mt_cli_output_abandon(&o);
    } else if (saves && mt_cli_output_commit(&o, &err) != MT_OK) {
        exit_code = mt_cli_fail(w->cli, NULL, &err);
    }
    return exit_code;
}

static int simulate_file(struct work *w, const char *file)
{
    struct mt_error err;
    if (simulate_all(w, &err) != MT_OK) {
        return mt_cli_fail(w->cli, file, &err);
    }
    const struct mt_common *common = &w->x->common;
    if (w->devices.n == 0 && common->output) {
        mt_fail(&err, MT_FORMAT, MT_NO_OFFSET,
                "no recorded events to replay: there is nothing to write");
        mt_hint(&err, "the history was not recorded: %s switches it on",
                mt_history_switch(w->snapshot));
        return mt_cli_fail(w->cli, file, &err);
    }
    if (w->devices.n == 0 && (common->json || common->csv || common->tsv)) {
        mt_cli_note(w->cli, common,
                    "%s: no recorded events to replay: the history was not recorded (%s switches "
                    "it on)",
                    file, mt_history_switch(w->snapshot));
    }
    return report_and_save(w, file);
}

/* ---- the call ---- */

/* The release whose allocator to follow: asked for, or told by the keys of the file. */
static bool find_release(const struct simulate_settings *x, const struct mt_snapshot *s,
                         mt_torch_release *release)
{
    *release = mt_settings_release(s, MT_TORCH_MEMTOOL);
    return !x->torch || mt_torch_release_parse(mt_str_from(x->torch), release);
}

static int parse_confs(struct mt_cli *cli, const struct simulate_settings *x,
                       mt_torch_release release, struct mt_conf *out)
{
    for (size_t i = 0; i < x->confs.n; i++) {
        mt_conf_parse(conf_text(x->confs.v[i]), release, &out[i]);
        if (out[i].unfamiliar[0]) {
            return mt_cli_usage(cli, "simulate: --conf '%s': not known to this memtool: %s",
                                x->confs.v[i], out[i].unfamiliar);
        }
        if (!out[i].valid || out[i].settings.backend == MT_BACKEND_ASYNC) {
            struct mt_error err;
            mt_conf_refused(&err, "simulate", x->confs.v[i], &out[i], release, !x->torch);
            return mt_cli_fail(cli, NULL, &err);
        }
    }
    return 0;
}

static bool has_edits(const struct simulate_settings *x)
{
    size_t n = 0;
    for (size_t i = 0; i < MT_SIM_EDITS; i++) {
        n += x->edits[i].n;
    }
    return n > 0;
}

static int run_loaded(struct mt_cli *cli, const struct simulate_settings *x,
                      const struct mt_snapshot *s, const char *file)
{
    mt_torch_release release;
    if (!find_release(x, s, &release)) {
        return mt_cli_usage(cli, "simulate: --torch: '%s' is no release such as 2.11", x->torch);
    }
    mt_cli_note_release(cli, &x->common, release);
    struct mt_recorded how;
    mt_recorded_find(&how, s);
    struct mt_error err;
    struct mt_conf *confs = mt_mem_alloc(x->confs.n + 1, sizeof *confs);
    if (!confs) {
        mt_fail_nomem(&err);
        return mt_cli_fail(cli, file, &err);
    }
    struct work w = {.cli = cli,
                     .x = x,
                     .snapshot = s,
                     .confs = confs,
                     .options = {.release = release,
                                 .has_limit = x->limit > 0,
                                 .limit = x->limit,
                                 .watched = how.watched,
                                 .has_capacity = x->capacity > 0,
                                 .capacity = x->capacity}};
    struct mt_edit_list edits = {0};
    int exit_code = parse_confs(cli, x, release, confs);
    if (exit_code == 0 && x->common.output && has_edits(x)) {
        exit_code = mt_cli_usage(cli, "simulate: -o cannot write an edited program");
    }
    if (exit_code == 0 && mt_edit_list_make(&edits, x->edits, s, &err) != MT_OK) {
        exit_code = mt_cli_fail(cli, NULL, &err);
    }
    w.edits = edits.list.v;
    w.n_edits = edits.list.n;
    if (exit_code == 0) {
        exit_code = simulate_file(&w, file);
    }
    work_release(&w);
    mt_edit_list_release(&edits);
    mt_mem_free(confs);
    return exit_code;
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    const struct simulate_settings *x = settings;
    struct mt_snapshot s;
    (void)n_files;
    int loaded = mt_cli_load(cli, &x->common, files[0], &s);
    if (loaded != 0 && loaded != 4) {
        return loaded;
    }
    int exit_code = run_loaded(cli, x, &s, files[0]);
    mt_snapshot_release(&s);
    return exit_code ? exit_code : loaded;
}
