/* SPDX-License-Identifier: MIT */
/* fit: what fits, before you try it. */
#include <stdlib.h>
#include <string.h>

#include "verbs/conf/conf_explain.h"
#include "verbs/estimate/cards.h"
#include "verbs/fit/print.h"
#include "verbs/fit/sizes.h"
#include "snapshot/model/settings.h"

#include "cli/command.h"

struct size_list {
    MT_VEC(uint64_t) list;
};

struct fit_settings {
    struct mt_common common;
    const char *sizes, *predict, *what, *torch;
    struct mt_texts confs;
    uint64_t limit, capacity, card;
    int64_t device;
    bool advise;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);
static void defaults(void *settings);

#define AT(field) offsetof(struct fit_settings, field)

static const struct mt_option OPTIONS[] = {
    MT_OPT_TEXT(0, "sizes", AT(sizes), "LIST",
                "the sizes that the recordings were made at, in the order of the files: 2,3,4 "
                "(default: the number in which the names of the files, or annotations, differ)",
                .common = true),
    MT_OPT_TEXT(0, "predict", AT(predict), "LIST", "sizes to predict: 8,16,32", .common = true),
    MT_OPT_TEXT(0, "what", AT(what), "NAME",
                "what the sizes are of, as batch or sequence (default: size)"),
    MT_OPT_TEXTS(0, "conf", AT(confs), "SETTINGS",
                 "also under these settings, written as in PYTORCH_CUDA_ALLOC_CONF; repeatable",
                 .common = true),
    MT_OPT_SIZE(0, "limit", AT(limit), "SIZE",
                "find the largest size under this limit of the process (the memory fraction, in "
                "bytes)",
                .memory = true, .min = 1, .max = MT_ANY_SIZE, .common = true),
    MT_OPT_SIZE(0, "capacity", AT(capacity), "SIZE",
                "the same for what the driver can give this process", .memory = true, .min = 1,
                .max = MT_ANY_SIZE, .common = true),
    MT_OPT_CUSTOM(0, "card", AT(card), "SIZE|NAME", mt_card_arg,
                  "the same for a card with nothing else on it: 80GiB, or a name such as h100; of "
                  "it a CUDA context takes 768 MiB",
                  .common = true),
    MT_OPT_FLAG(0, "advise", AT(advise),
                "try the usual cures on a size that does not fit, and list those that help"),
    MT_OPT_INT(0, "device", AT(device), "N", 0, 65535,
               "this device (default: the one with the most events)"),
    MT_OPT_TEXT(0, "torch", AT(torch), "VERSION",
                "follow the allocator of this PyTorch release (default: that of the recordings)"),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Options", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
};

const struct mt_command mt_cmd_fit = {
    .name = "fit",
    .summary = "what fits, before you try it",
    .usage = "[options] [--sizes A,B[,C]] FILE FILE [FILE]...",
    .description =
        "Predicts what a program would reserve at sizes that were never run, from recordings of it "
        "at small ones. The recordings are aligned call by call, each allocation's size is put on "
        "a law (constant, linear, quadratic), and the program is replayed through PyTorch's "
        "allocator with the sizes of the laws. With --limit or --capacity it finds the largest "
        "size that fits. What cannot be known makes a range, or no prediction, and is named.",
    .examples = "memtool fit --sizes 2,3,4 --predict 16,32 b2.pickle b3.pickle b4.pickle\n"
                "memtool fit --sizes 2,3,4 --limit 40GiB b2.pickle b3.pickle b4.pickle",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .flags = MT_COMMAND_TABLE | MT_COMMAND_FIGURES,
    .settings_size = sizeof(struct fit_settings),
    .defaults = defaults,
    .min_files = 2,
    .max_files = MT_FIT_RECORDINGS,
    .run = run,
};

static void defaults(void *settings)
{
    struct fit_settings *x = settings;
    x->what = "size";
    x->device = -1;
}

struct work {
    struct mt_cli *cli;
    const struct fit_settings *x;
    char **files;
    size_t n;
    struct size_list sizes, predict;
    struct mt_snapshot snapshots[MT_FIT_RECORDINGS];
    size_t loaded;
    mt_torch_release release;
    struct mt_conf *confs;
    struct mt_fit *fit;
    struct mt_fit_answer *answers; /* the recorded settings, then each --conf */
    struct mt_fit_run *runs;
    uint64_t advised;
    struct mt_sim_cures cures;
};

static void work_release(struct work *w)
{
    for (size_t i = 0; i < w->loaded; i++) {
        mt_snapshot_release(&w->snapshots[i]);
    }
    mt_fit_free(w->fit);
    mt_mem_free(w->confs);
    mt_mem_free(w->answers);
    mt_mem_free(w->runs);
    mt_sim_cures_release(&w->cures);
    mt_vec_release(&w->sizes.list);
    mt_vec_release(&w->predict.list);
}

/* ---- the call ---- */

/* "2,3,4": whole numbers from 1 to 10^12. */
static int parse_sizes(struct work *w, const char *option, const char *text, struct size_list *out)
{
    static const uint64_t most = MT_FIT_MOST_SIZE;
    for (const char *at = text; at;) {
        struct mt_str rest = mt_str_from(at);
        uint64_t value;
        size_t used = 0;
        for (value = 0; used < rest.n && at[used] >= '0' && at[used] <= '9' && value <= most;
             used++) {
            value = value * 10 + (uint64_t)(at[used] - '0');
        }
        if (used == 0 || value == 0 || value > most || (at[used] && at[used] != ',')) {
            return mt_cli_usage(w->cli, "fit: %s '%s': wanted are whole numbers such as 2,3,4",
                                option, text);
        }
        if (!mt_vec_push(&out->list, value)) {
            struct mt_error err;
            mt_fail_nomem(&err);
            return mt_cli_fail(w->cli, NULL, &err);
        }
        at = at[used] == ',' ? at + used + 1 : NULL;
    }
    return 0;
}

static int parse_call(struct work *w)
{
    const struct fit_settings *x = w->x;
    if (x->card && x->card <= MT_CARD_CONTEXT) {
        return mt_cli_usage(w->cli, "fit: --card: the CUDA context takes all of it");
    }
    if (x->advise && !x->predict && !x->limit && !x->capacity && !x->card) {
        return mt_cli_usage(w->cli, "fit: --advise wants --predict, --limit, --capacity or --card");
    }
    int code = parse_sizes(w, "--sizes", x->sizes, &w->sizes);
    if (code == 0 && x->sizes && w->sizes.list.n != w->n) {
        return mt_cli_usage(w->cli, "fit: %zu files and %zu sizes", w->n, w->sizes.list.n);
    }
    return code == 0 ? parse_sizes(w, "--predict", x->predict, &w->predict) : code;
}

/* Where --sizes is left out. */
static int find_sizes(struct work *w)
{
    uint64_t sizes[MT_FIT_RECORDINGS];
    struct mt_error err;
    bool found = mt_fit_sizes_of_names(w->files, w->n, sizes);
    if (!found && mt_fit_sizes_of_annotations(w->snapshots, w->n, sizes, &found, &err) != MT_OK) {
        return mt_cli_fail(w->cli, NULL, &err);
    }
    if (!found) {
        return mt_cli_usage(w->cli, "fit: --sizes is missing, and neither the names of the files "
                                    "nor annotations differ in one number alone");
    }
    for (size_t i = 0; i < w->n; i++) {
        if (!mt_vec_push(&w->sizes.list, sizes[i])) {
            mt_fail_nomem(&err);
            return mt_cli_fail(w->cli, NULL, &err);
        }
    }
    return 0;
}

static struct mt_str conf_text(const char *given)
{
    struct mt_str conf;
    const char *variable;
    mt_conf_unassign(mt_str_from(given), &conf, &variable);
    return conf;
}

static int parse_confs(struct work *w)
{
    struct mt_error err;
    w->confs = mt_mem_zalloc(w->x->confs.n + 1, sizeof *w->confs);
    if (!w->confs) {
        mt_fail_nomem(&err);
        return mt_cli_fail(w->cli, NULL, &err);
    }
    for (size_t i = 0; i < w->x->confs.n; i++) {
        mt_conf_parse(conf_text(w->x->confs.v[i]), w->release, &w->confs[i]);
        if (!w->confs[i].valid || w->confs[i].settings.backend == MT_BACKEND_ASYNC) {
            mt_conf_refused(&err, "fit", w->x->confs.v[i], &w->confs[i], w->release, !w->x->torch);
            return mt_cli_fail(w->cli, NULL, &err);
        }
    }
    return 0;
}

static int load_all(struct work *w)
{
    int worst = 0;
    for (size_t i = 0; i < w->n; i++) {
        int code = mt_cli_load(w->cli, &w->x->common, w->files[i], &w->snapshots[i]);
        if (code != 0 && code != 4) {
            return code;
        }
        w->loaded++;
        worst = code > worst ? code : worst;
    }
    w->release = mt_settings_release(&w->snapshots[0], MT_TORCH_MEMTOOL);
    if (w->x->torch && !mt_torch_release_parse(mt_str_from(w->x->torch), &w->release)) {
        return mt_cli_usage(w->cli, "fit: --torch: '%s' is no release such as 2.11", w->x->torch);
    }
    return worst;
}

/* ---- the answers ---- */

/* What the driver can give: of both the less. */
static uint64_t capacity_of(const struct fit_settings *x)
{
    uint64_t card = x->card ? x->card - MT_CARD_CONTEXT : 0;
    return card && (!x->capacity || card < x->capacity) ? card : x->capacity;
}

static enum mt_status answer(struct work *w, size_t i, struct mt_error *err)
{
    struct mt_fit_answer *a = &w->answers[i];
    struct mt_fit_question q = {.settings = i ? &w->confs[i - 1].settings : NULL,
                                .limit = w->x->limit,
                                .capacity = capacity_of(w->x)};
    size_t n = w->predict.list.n;
    struct mt_fit_run *runs = w->runs + i * n;
    *a = (struct mt_fit_answer){.conf = i ? conf_text(w->x->confs.v[i - 1]) : mt_fit_conf(w->fit),
                                .recorded = i == 0,
                                .runs = runs,
                                .n_runs = n,
                                .limit = q.limit,
                                .capacity = q.capacity};
    for (size_t k = 0; k < n; k++) {
        MT_TRY(mt_fit_predict(w->fit, w->predict.list.v[k], &q, &runs[k], err));
    }
    a->searched = q.limit || q.capacity;
    return a->searched ? mt_fit_largest(w->fit, &q, &a->fits, &a->next, err) : MT_OK;
}

/* The largest size that was asked for and is refused, else the next to the largest that fits, else
 * the largest that was asked for. */
static uint64_t size_to_cure(const struct work *w)
{
    const struct mt_fit_answer *a = &w->answers[0];
    uint64_t refused = 0, largest = 0;
    for (size_t i = 0; i < a->n_runs; i++) {
        const struct mt_fit_run *run = &a->runs[i];
        bool fails = run->verdict == MT_SIM_OUT_OF_MEMORY;
        largest = run->size > largest ? run->size : largest;
        refused = fails && run->size > refused ? run->size : refused;
    }
    return refused ? refused : a->searched && a->next.size ? a->next.size : largest;
}

static enum mt_status advise(struct work *w, struct mt_error *err)
{
    struct mt_fit_question q = {.limit = w->x->limit, .capacity = capacity_of(w->x)};
    w->advised = size_to_cure(w);
    return w->advised ? mt_fit_find_cures(w->fit, w->advised, &q, &w->cures, err) : MT_OK;
}

static enum mt_status answer_all(struct work *w, struct mt_error *err)
{
    struct mt_fit_input inputs[MT_FIT_RECORDINGS];
    size_t n = w->x->confs.n + 1;
    for (size_t i = 0; i < w->n; i++) {
        inputs[i] = (struct mt_fit_input){&w->snapshots[i], w->sizes.list.v[i]};
    }
    MT_TRY(mt_fit_new(inputs, w->n, (int32_t)w->x->device, w->release, &w->fit, err));
    w->answers = mt_mem_zalloc(n, sizeof *w->answers);
    w->runs = mt_mem_zalloc(n * (w->predict.list.n + 1), sizeof *w->runs);
    if (!w->answers || !w->runs) {
        return mt_fail_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        MT_TRY(answer(w, i, err));
    }
    return w->x->advise ? advise(w, err) : MT_OK;
}

static int report(struct work *w, int code)
{
    struct mt_report r;
    struct mt_cli_output out;
    struct mt_error err;
    const struct mt_fit_report v = {.fit = w->fit,
                                    .base = &w->snapshots[mt_fit_base(w->fit)],
                                    .what = w->x->what,
                                    .files = w->files,
                                    .answers = w->answers,
                                    .n_answers = w->x->confs.n + 1,
                                    .advised = w->advised,
                                    .cures = &w->cures};
    int opened = mt_cli_report_begin(w->cli, &w->x->common, w->files[0], &r, &out);
    if (opened) {
        return opened;
    }
    enum mt_status status = r.json        ? mt_report_fit_json(&r, &v, &err)
                            : r.separator ? mt_report_fit_csv(&r, &v, &err)
                                          : mt_report_fit_text(&r, &v, &err);
    if (status != MT_OK) {
        code = mt_cli_fail(w->cli, w->files[0], &err);
    }
    return mt_cli_report_end(w->cli, &out, code);
}

static int run_loaded(struct work *w, int loaded)
{
    struct mt_error err;
    int code = w->sizes.list.n ? 0 : find_sizes(w);
    code = code ? code : parse_confs(w);
    if (code == 0 && answer_all(w, &err) != MT_OK) {
        code = mt_cli_fail(w->cli, NULL, &err);
    }
    return code ? code : report(w, loaded);
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    struct work *w = mt_mem_zalloc(1, sizeof *w);
    struct mt_error err;
    if (!w) {
        mt_fail_nomem(&err);
        return mt_cli_fail(cli, NULL, &err);
    }
    w->cli = cli;
    w->x = settings;
    w->files = files;
    w->n = n_files;
    int code = parse_call(w);
    if (code == 0) {
        code = load_all(w);
        code = code == 0 || code == 4 ? run_loaded(w, code) : code;
    }
    work_release(w);
    mt_mem_free(w);
    return code;
}
