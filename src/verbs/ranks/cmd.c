/* SPDX-License-Identifier: MIT */
/* ranks: the files of many ranks side by side, and which one is odd. */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/slurp.h"
#include "heap/walk/cut_trace.h"
#include "snapshot/read/read.h"
#include "support/mem.h"
#include "verbs/ranks/print.h"

struct ranks_settings {
    struct mt_common common;
    double threshold_pct;
    uint64_t capacity;
    int64_t world;
    struct mt_filter filter;
};

static void defaults(void *settings);
static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);

#define AT(field) offsetof(struct ranks_settings, field)

static const struct mt_option OPTIONS[] = {
    MT_OPT_NUMBER(0, "threshold", AT(threshold_pct), "PERCENT", 0, 1e6,
                  "a peak this far from the median is odd (default 5)", .common = true),
    MT_OPT_SIZE(
        0, "capacity", AT(capacity), "SIZE",
        "memory of each device: tells the headroom of each rank, and at an OOM what is not its own",
        .memory = true, .min = 1, .max = MT_ANY_SIZE, .common = true),
    MT_OPT_INT(0, "world-size", AT(world), "N", 1, 1e6,
               "how many ranks the job has: names those without a file", .common = true),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Comparing", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
    MT_FILTER_GROUP(struct ranks_settings),
};

const struct mt_command mt_cmd_ranks = {
    .name = "ranks",
    .summary = "which rank of a job is the odd one, and why",
    .usage = "[options] FILE|FOLDER...",
    .description =
        "Compares the ranks of one job: their snapshots, folders of them, or what stats, peak and "
        "leaks printed with --json beside each rank, one object a line. Prints minimum, median and "
        "maximum, and each rank that is odd with the reason: longer inputs, memory that the others "
        "free, a rise from step to step, contexts of other ranks on its device. The number of a "
        "rank is taken from its file's name (rank3, or the last number in it).",
    .examples = "memtool ranks dumps/                            a folder of snapshots\n"
                "cat results/*.json | memtool ranks -            results of earlier runs",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_TABLE | MT_COMMAND_FIGURES,
    .settings_size = sizeof(struct ranks_settings),
    .defaults = defaults,
    .min_files = 1,
    .max_files = -1,
    .run = run,
};

static void defaults(void *settings)
{
    struct ranks_settings *x = settings;
    x->threshold_pct = 5;
}

/* ---- what was named ---- */

struct named {
    char *path;
    bool found; /* in a folder: may be something else, and is passed over then */
};

struct gathering {
    struct mt_cli *cli;
    const struct ranks_settings *settings;
    MT_VEC(struct named) files;
    struct mt_ranks ranks;
    size_t read, failed;
    int code;       /* of the first failure */
    bool partly;    /* a damaged file was read as far as it was whole */
    bool no_memory; /* then nothing is printed: which ranks are missing would be chance */
};

static bool add_file(struct gathering *g, const char *folder, const char *name, bool found)
{
    struct mt_buf b = {0};
    mt_buf_text(&b, folder ? folder : "");
    mt_buf_text(&b, folder && folder[0] && folder[strlen(folder) - 1] != '/' ? "/" : "");
    mt_buf_text(&b, name);
    if (b.failed || !mt_vec_push(&g->files, ((struct named){b.p, found}))) {
        mt_buf_release(&b);
        return false;
    }
    return true;
}

static bool looks_readable(const char *name)
{
    static const char *const suffixes[] = {".pickle", ".pkl", ".pt", ".json", ".ndjson", ".jsonl"};
    struct mt_str s = mt_str_from(name);
    if (mt_str_ends(s, MT_STR(".gz"))) {
        s.n -= 3;
    }
    for (size_t i = 0; i < MT_COUNT(suffixes) && name[0] != '.'; i++) {
        if (mt_str_ends(s, mt_str_from(suffixes[i]))) {
            return true;
        }
    }
    return false;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->path, ((const struct named *)b)->path);
}

static bool add_folder(struct gathering *g, const char *path)
{
    DIR *d = opendir(path);
    size_t from = g->files.n;
    bool ok = d != NULL;
    for (struct dirent *e; ok && (e = readdir(d)) != NULL;) {
        ok = !looks_readable(e->d_name) || add_file(g, path, e->d_name, true);
    }
    if (d) {
        closedir(d);
    }
    if (g->files.n > from) {
        qsort(g->files.v + from, g->files.n - from, sizeof *g->files.v, by_path);
    }
    return ok;
}

/* A pattern that the shell has not expanded (too many files for its command line, or quoted). */
static bool add_pattern(struct gathering *g, const char *pattern)
{
    glob_t found;
    bool ok = true;
    if (!strpbrk(pattern, "*?[") || glob(pattern, 0, NULL, &found) != 0) {
        return add_file(g, NULL, pattern, false);
    }
    for (size_t i = 0; i < found.gl_pathc && ok; i++) {
        ok = add_file(g, NULL, found.gl_pathv[i], false);
    }
    globfree(&found);
    return ok;
}

static bool add_named(struct gathering *g, const char *path)
{
    struct stat st;
    if (strcmp(path, "-") == 0) {
        return add_file(g, NULL, path, false);
    }
    if (stat(path, &st) != 0) {
        return add_pattern(g, path);
    }
    return S_ISDIR(st.st_mode) ? add_folder(g, path) : add_file(g, NULL, path, false);
}

/* ---- reading ---- */

/* Of a folder: a pickle is a dump that was cut off or never written, and so is what has a rank in
 * its name; other JSON may be anything. */
static bool may_be_other(const struct named *f)
{
    bool weak;
    struct mt_str name = mt_str_basename(mt_str_from(f->path));
    (void)mt_rank_number(name, &weak);
    return f->found && weak && mt_str_find(name, MT_STR(".p")) == SIZE_MAX;
}

static void fail(struct gathering *g, const struct named *f, const struct mt_error *err)
{
    if (may_be_other(f) && (err->code == MT_FORMAT || err->code == MT_UNSUPPORTED)) {
        mt_cli_note(g->cli, &g->settings->common, "%s: passed over, it has no snapshot", f->path);
        return;
    }
    bool standard = strcmp(f->path, "-") == 0;
    g->no_memory |= !standard && !mt_ranks_lose(&g->ranks, mt_str_from(f->path));
    int code = mt_cli_fail(g->cli, f->path, err);
    g->code = g->failed++ ? g->code : code;
    g->no_memory |= err->code == MT_NOMEM;
}

static enum mt_status add_device(struct gathering *g, const struct mt_snapshot *s,
                                 struct mt_filtered *filtered, const char *path, int32_t device,
                                 struct mt_error *err)
{
    struct mt_rank_read_options o = {
        .filtered = filtered, .device = device, .capacity = g->settings->capacity};
    struct mt_buf name = {0};
    mt_buf_text(&name, path);
    if (device >= 0) {
        mt_buf_printf(&name, " device%d", (int)device);
    }
    size_t index = name.failed ? SIZE_MAX : mt_ranks_of_file(&g->ranks, mt_buf_view(&name));
    mt_buf_release(&name);
    return index == SIZE_MAX ? mt_fail_nomem(err)
                             : mt_rank_read_snapshot(&g->ranks, index, s, &o, err);
}

/* One file alone with several devices is a job by itself: each device is a rank. */
static enum mt_status add_snapshot(struct gathering *g, struct mt_snapshot *s, const char *path,
                                   struct mt_error *err)
{
    struct mt_filtered filtered;
    struct mt_devices devices = {0};
    MT_TRY(mt_snapshot_follow_trace(s, err));
    enum mt_status status = mt_filtered_init(&filtered, &g->settings->filter, s, err);
    if (status == MT_OK) {
        status = mt_devices_find(&devices, s, false, err);
    }
    if (status == MT_OK && mt_cli_note_damage(g->cli, &g->settings->common, path, s)) {
        g->partly = true;
    }
    bool each = g->files.n == 1 && devices.ids.n > 1 && g->settings->filter.device < 0;
    for (size_t i = 0; status == MT_OK && i < (each ? devices.ids.n : 1); i++) {
        status = add_device(g, s, &filtered, path, each ? devices.ids.v[i] : -1, err);
    }
    mt_devices_release(&devices);
    mt_filtered_release(&filtered);
    return status;
}

/* The options of reading, from those of the command line. */
static struct mt_read_options read_options(const struct gathering *g)
{
    const struct mt_common *common = &g->settings->common;
    return (struct mt_read_options){.hash_seed = g->cli->hash_seed,
                                    .max_input = common->max_input,
                                    .max_depth = (uint32_t)common->max_depth,
                                    .max_events = common->max_events,
                                    .salvage = common->salvage};
}

static enum mt_status read_text(struct gathering *g, const struct named *f, FILE *from,
                                struct mt_buf *text, struct mt_error *err)
{
    MT_TRY(mt_cli_slurp(from, MT_SLURP_MOST, text, err));
    if (mt_is_rank_results(mt_buf_view(text))) {
        return mt_ranks_read_results(&g->ranks, mt_buf_view(text), err);
    }
    struct mt_snapshot s;
    struct mt_read_options o = read_options(g);
    MT_TRY(mt_snapshot_read_memory(text->p ? text->p : "", text->n, 0, &o, &s, err));
    enum mt_status status = add_snapshot(g, &s, f->path, err);
    mt_snapshot_release(&s);
    return status;
}

static enum mt_status read_snapshot(struct gathering *g, const struct named *f,
                                    struct mt_error *err)
{
    struct mt_snapshot s;
    struct mt_read_options o = read_options(g);
    MT_TRY(mt_snapshot_read(f->path, &o, &s, err));
    enum mt_status status = add_snapshot(g, &s, f->path, err);
    mt_snapshot_release(&s);
    return status;
}

/* Results of earlier runs are known by their beginning; a pipe is read whole before it is known. */
static enum mt_status read_any(struct gathering *g, const struct named *f, struct mt_error *err)
{
    char head[64];
    bool standard = strcmp(f->path, "-") == 0;
    FILE *from = standard ? stdin : fopen(f->path, "rb");
    if (!from) {
        return read_snapshot(g, f, err); /* which says why */
    }
    size_t n = fread(head, 1, sizeof head, from);
    enum mt_status status = MT_OK;
    if (ferror(from)) {
        status = mt_fail(err, MT_IO, MT_NO_OFFSET, "cannot read: %s", strerror(errno));
    } else if (mt_cli_reads_once(f->path) || mt_is_rank_results((struct mt_str){head, n})) {
        struct mt_buf text = {0};
        mt_buf_add(&text, head, n);
        status = read_text(g, f, from, &text, err);
        mt_buf_release(&text);
    } else {
        status = read_snapshot(g, f, err);
    }
    if (!standard) {
        fclose(from);
    }
    return status;
}

static void read_file(struct gathering *g, const struct named *f)
{
    struct mt_error err;
    if (read_any(g, f, &err) == MT_OK) {
        g->read++;
    } else {
        fail(g, f, &err);
    }
}

/* ---- numbers ---- */

/* Ranks without a number in their result: from the names, where these tell all apart; else in the
 * order of the files. */
static bool number_ranks(struct mt_ranks *r, int64_t world)
{
    bool any_weak = false, doubled = false;
    for (size_t i = 0; i < r->ranks.n; i++) {
        struct mt_rank *rank = &r->ranks.v[i];
        bool weak = false;
        if (rank->rank < 0) {
            rank->rank = mt_rank_number(rank->file, &weak);
        }
        any_weak |= weak;
    }
    for (size_t i = 0; any_weak && i < r->ranks.n && !doubled; i++) {
        doubled = r->ranks.v[i].rank < 0;
        for (size_t k = 0; k < i && !doubled; k++) {
            doubled = r->ranks.v[k].rank == r->ranks.v[i].rank;
        }
    }
    for (size_t i = 0; doubled && i < r->ranks.n; i++) {
        r->ranks.v[i].rank = (int64_t)i;
    }
    return any_weak && !world ? true : mt_ranks_find_gaps(r, world); /* 100, 200 may be steps */
}

static int print(struct gathering *g, char **files)
{
    const struct ranks_settings *x = g->settings;
    struct mt_error err;
    struct mt_report r;
    struct mt_cli_output o;
    struct mt_ranks_result result = {0};
    enum mt_status status = number_ranks(&g->ranks, x->world) ? MT_OK : mt_fail_nomem(&err);
    if (status == MT_OK) {
        status = mt_ranks_compare(&g->ranks, x->threshold_pct / 100, &result, &err);
    }
    int code = status == MT_OK ? mt_cli_report_begin(g->cli, &x->common, files[0], &r, &o)
                               : mt_cli_fail(g->cli, NULL, &err);
    if (code == 0) {
        status = r.json        ? mt_report_ranks_json(&r, &g->ranks, &result, &err)
                 : r.separator ? mt_report_ranks_csv(&r, &g->ranks, &err)
                               : mt_report_ranks_text(&r, &g->ranks, &result, &err);
        bool whole = !g->failed && !g->partly && !g->ranks.gaps.n;
        code = status == MT_OK ? (whole ? 0 : 4) : mt_cli_fail(g->cli, NULL, &err);
        code = mt_cli_report_end(g->cli, &o, code);
    }
    mt_ranks_result_release(&result);
    return code;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A rank's figures are added up over what is given of it: one file twice would count twice. NULL:
 * no path is, or memory runs out (then g->no_memory). */
static const char *named_twice(struct gathering *g)
{
    const char **paths = mt_mem_alloc(g->files.n, sizeof *paths);
    const char *twice = NULL;
    g->no_memory |= paths == NULL;
    for (size_t i = 0; paths && i < g->files.n; i++) {
        paths[i] = g->files.v[i].path;
    }
    if (paths) {
        qsort(paths, g->files.n, sizeof *paths, compare_paths);
    }
    for (size_t i = 1; paths && !twice && i < g->files.n; i++) {
        twice = strcmp(paths[i - 1], paths[i]) == 0 ? paths[i] : NULL;
    }
    mt_mem_free(paths);
    return twice;
}

static int gather(struct gathering *g, char **files, size_t n_files)
{
    struct mt_error err;
    bool ok = mt_ranks_init(&g->ranks, g->cli->hash_seed, &err) == MT_OK;
    for (size_t i = 0; i < n_files && ok; i++) {
        ok = add_named(g, files[i]);
    }
    if (!ok) {
        mt_fail_nomem(&err);
        return mt_cli_fail(g->cli, NULL, &err);
    }
    const char *twice = named_twice(g);
    if (twice) {
        return mt_cli_usage(g->cli, "ranks: %s is named twice", twice);
    }
    for (size_t i = 0; i < g->files.n; i++) {
        read_file(g, &g->files.v[i]);
    }
    if (!g->failed && !g->ranks.ranks.n) {
        mt_fail(&err, MT_FORMAT, MT_NO_OFFSET, "no snapshot and no result of stats, peak or leaks");
        return mt_cli_fail(g->cli, files[0], &err);
    }
    if (g->no_memory) {
        return mt_status_exit_code(MT_NOMEM);
    }
    return g->ranks.ranks.n ? print(g, files) : g->code;
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct gathering g = {.cli = cli, .settings = settings};
    int code = gather(&g, files, n_files);
    for (size_t i = 0; i < g.files.n; i++) {
        mt_mem_free(g.files.v[i].path);
    }
    mt_vec_release(&g.files);
    mt_ranks_release(&g.ranks);
    return code;
}
