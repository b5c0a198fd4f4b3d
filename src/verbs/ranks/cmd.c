/* SPDX-License-Identifier: MIT */
/* ranks: the files of many ranks side by side, and which one is odd. */
#include <string.h>

#include "cli/card_figures.h"
#include "cli/course_input.h"
#include "cli/output/flame_picture.h"
#include "support/mem.h"
#include "verbs/ranks/gather.h"
#include "verbs/ranks/heat_map.h"
#include "verbs/ranks/print.h"

struct ranks_settings {
    struct mt_common common;
    double threshold_pct;
    uint64_t capacity;
    const char *smi_file;
    int64_t world;
    struct mt_rank_grid grid;
    struct mt_filter filter;
};

static void defaults(void *settings);
static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);

#define AT(field) offsetof(struct ranks_settings, field)

static const struct mt_option OPTIONS[] = {
    MT_OPT_NUMBER(0, "threshold", AT(threshold_pct), "PERCENT", 0, 1e6,
                  "a peak this far from the median is odd (default 5)", .common = true),
    MT_OPT_SIZE(0, "capacity", AT(capacity), "SIZE",
                "memory of each device: tells the headroom of each rank, and, at an OOM, memory "
                "held outside its process",
                .memory = true, .min = 1, .max = MT_ANY_SIZE, .common = true),
    MT_OPT_TEXT(0, "nvidia-smi", AT(smi_file), "FILE",
                "what nvidia-smi printed, which tells the memory of the devices"),
    MT_OPT_INT(0, "world-size", AT(world), "N", 1, 1e6,
               "how many ranks the job has: names those without a file", .common = true),
    MT_OPT_INT(0, "pp", AT(grid.pp), "N", 1, 1e6,
               "how many pipeline stages the job has: ranks are compared within their stage "
               "(without it, taken from pp1 or stage1 in the file names)",
               .common = true),
    MT_OPT_INT(0, "tp", AT(grid.tp), "N", 1, 1e6, "how many ranks share a layer (tensor parallel)"),
    MT_OPT_INT(0, "dp", AT(grid.dp), "N", 1, 1e6, "how many copies of the model the job has"),
    MT_OPT_OUTPUT("write to FILE, - is standard output; to .json, .csv or .tsv as such, to .svg, "
                  ".png or .pdf as a picture: memory over time, one row per rank, and the peaks"),
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
        "Compares the ranks of one job: their snapshots, folders of them, or the --json output of "
        "stats, peak and leaks, saved per rank, one object per line. Prints minimum, median and "
        "maximum, and each rank that is odd with the reason: longer inputs, memory that the others "
        "free, a rise from step to step, CUDA contexts of other ranks on its device. The number of "
        "a "
        "rank is taken from its file's name (rank3, or the last number in it).",
    .examples = "memtool ranks dumps/                            a folder of snapshots\n"
                "memtool ranks dumps/ -o ranks.png                all of them in a picture\n"
                "cat results/*.json | memtool ranks -            results of earlier runs",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_TABLE | MT_COMMAND_FIGURES | MT_COMMAND_FLAME,
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

/* ---- numbers ---- */

/* Ranks without a number in their result: from the names, where these tell all apart; else in the
 * order of the files. */
static bool number_ranks(struct mt_ranks *r, int64_t world)
{
    bool any_weak = false, doubled = false;
    if (!mt_ranks_drop_spares(r)) {
        return false;
    }
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

static int print(struct mt_gathering *g, const struct ranks_settings *x, char **files)
{
    struct mt_error err;
    struct mt_report r;
    struct mt_cli_output o;
    struct mt_ranks_result result = {0};
    char wrong[160];
    enum mt_status status = number_ranks(&g->ranks, x->world) ? MT_OK : mt_fail_nomem(&err);
    if (status == MT_OK && mt_ranks_place(&g->ranks, &x->grid, x->world, wrong, sizeof wrong)) {
        return mt_cli_usage(g->cli, "ranks: %s", wrong);
    }
    if (status == MT_OK) {
        status = mt_ranks_compare(&g->ranks, x->threshold_pct / 100, &result, &err);
    }
    int code = status == MT_OK ? mt_cli_report_begin(g->cli, &x->common, files[0], &r, &o)
                               : mt_cli_fail(g->cli, NULL, &err);
    if (code == 0) {
        const struct mt_plot_format *picture = mt_flame_format(&x->common);
        struct mt_rank_picture what = {
            .ranks = &g->ranks, .result = &result, .capacity = g->options.capacity};
        status = picture       ? mt_rank_picture_write(&r, picture, &what, &err)
                 : r.json      ? mt_report_ranks_json(&r, &g->ranks, &result, &err)
                 : r.separator ? mt_report_ranks_csv(&r, &g->ranks, &err)
                               : mt_report_ranks_text(&r, &g->ranks, &result, &err);
        bool whole = !g->failed && !g->partly && !g->ranks.gaps.n;
        code = status == MT_OK ? (whole ? 0 : 4) : mt_cli_fail(g->cli, NULL, &err);
        code = mt_cli_report_end(g->cli, &o, code);
    }
    mt_ranks_result_release(&result);
    return code;
}

static int gather(struct mt_gathering *g, const struct ranks_settings *x, char **files,
                  size_t n_files)
{
    struct mt_error err;
    bool ok = mt_ranks_init(&g->ranks, g->cli->hash_seed, &err) == MT_OK;
    for (size_t i = 0; i < n_files && ok; i++) {
        ok = mt_gather_named(g, files[i]);
    }
    if (!ok) {
        mt_fail_nomem(&err);
        return mt_cli_fail(g->cli, NULL, &err);
    }
    const char *twice = mt_gather_twice(g);
    if (twice) {
        return mt_cli_usage(g->cli, "ranks: %s is named twice", twice);
    }
    mt_gather_read(g);
    if (!g->failed && !g->ranks.ranks.n) {
        mt_fail(&err, MT_FORMAT, MT_NO_OFFSET, "no snapshot and no result of stats, peak or leaks");
        return mt_cli_fail(g->cli, files[0], &err);
    }
    if (g->no_memory) {
        return mt_status_exit_code(MT_NOMEM);
    }
    return g->ranks.ranks.n ? print(g, x, files) : g->code;
}

/* it100, it200: that they are compared as ranks may not be what was meant. */
static void note_moments(const struct mt_gathering *g, char **files, size_t n)
{
    char **sorted = mt_mem_alloc(n, sizeof *sorted);
    if (sorted) {
        memcpy(sorted, files, n * sizeof *sorted);
        if (mt_course_names(sorted, n) == MT_COURSE_TOLD_MOMENT) {
            mt_cli_note(g->cli, g->common,
                        "by their names these are moments of one process, not ranks; how its "
                        "memory went: memtool leaks");
        }
    }
    mt_mem_free(sorted);
}

/* Of several cards only a size that all have: the program may have numbered them otherwise. */
static uint64_t common_total(const struct mt_smi *smi)
{
    uint64_t total = smi->gpus.n ? smi->gpus.v[0].total : 0;
    for (size_t i = 0; i < smi->gpus.n; i++) {
        const struct mt_smi_gpu *gpu = &smi->gpus.v[i];
        total = gpu->total_known && gpu->total == total ? total : 0;
    }
    return total;
}

static int find_capacity(struct mt_cli *cli, const struct ranks_settings *x, uint64_t *capacity)
{
    struct mt_card_input card;
    const struct mt_card_settings named = {.smi_file = x->smi_file};
    int code = mt_card_input_read(cli, &named, &card);
    if (code == 0 && card.figures.smi && !*capacity) {
        *capacity = common_total(card.figures.smi);
        if (!*capacity) {
            mt_cli_note(cli, &x->common,
                        "%s: it does not tell one memory of all cards: give --capacity",
                        x->smi_file);
        }
    }
    mt_card_input_release(&card);
    return code;
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    const struct ranks_settings *x = settings;
    struct mt_gathering g = {
        .cli = cli,
        .common = &x->common,
        .filter = &x->filter,
        .options = {.capacity = x->capacity, .curves = mt_flame_format(&x->common) != NULL}};
    int code = find_capacity(cli, x, &g.options.capacity);
    if (code == 0) {
        note_moments(&g, files, n_files);
        code = gather(&g, x, files, n_files);
    }
    mt_gather_release(&g);
    return code;
}
