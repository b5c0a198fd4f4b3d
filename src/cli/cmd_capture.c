/* SPDX-License-Identifier: MIT */
/* capture: record a snapshot of a program without editing it. */
#define _XOPEN_SOURCE 700 /* realpath, which fortified builds declare anyhow */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "capture.h"
#include "frame.h"

struct capture_settings {
    struct mt_common common;
    int mode;
    int64_t max_entries;
    int stacks;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);
static void defaults(void *settings);

static const char *const MODES[] = {"torch", "record", "cache", "allocator", NULL};
static const char *const STACKS[] = {"python", "all", NULL};

#define AT(field) .offset = offsetof(struct capture_settings, field)

static const struct mt_option OPTIONS[] = {
    {.name = "mode",
     .kind = MT_OPTION_CHOICE,
     AT(mode),
     .choices = MODES,
     .help = "who records: PyTorch itself; a preload that watches any program, or serves its CUDA "
             "memory from a cache; memtool's allocator in PyTorch",
     .common = true},
    {.name = "max-entries",
     .kind = MT_OPTION_INT,
     AT(max_entries),
     .arg = "N",
     .min = 1,
     .max = 4e9,
     .help = "events kept for each device, the newest (default 1,000,000)",
     .common = true},
    {.name = "stacks",
     .kind = MT_OPTION_CHOICE,
     AT(stacks),
     .choices = STACKS,
     .help = "Python stacks, or C++ ones as well (makes a dump a hundred times slower)"},
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Capture", .options = OPTIONS, .n = MT_COUNT(OPTIONS)}};

const struct mt_command mt_cmd_capture = {
    .name = "capture",
    .summary = "record a snapshot of a program, without editing it",
    .usage = "[options] -- PROGRAM [ARGUMENT...]",
    .description =
        "Runs a program with its memory recording switched on from outside, and writes a snapshot "
        "when memory runs out, when the program ends, and on SIGUSR2. In the name, %p stands for "
        "the process id and %r for the rank (default: memtool-%p.pickle, under torchrun "
        "memtool-rank%r.pickle). Exit code, signals and terminal are the program's own.",
    .examples = "memtool capture -- python train.py\n"
                "memtool capture -o run-%r.pickle -- torchrun --nproc-per-node 8 train.py\n"
                "memtool capture --mode record -- ./simulation\n"
                "memtool capture --mode cache -- ./simulation",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .settings_size = sizeof(struct capture_settings),
    .defaults = defaults,
    .min_files = 1,
    .max_files = -1,
    .flags = MT_COMMAND_STARTS,
    .run = run,
};

static void defaults(void *settings)
{
    struct capture_settings *set = settings;
    set->max_entries = 1000000;
}

/* torchrun and its kin start a process a rank: each needs a name of its own. */
static bool starts_ranks(char **argv, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct mt_str word = mt_str_basename(mt_str_from(argv[i]));
        if (mt_str_equal(word, MT_STR("torchrun")) || mt_str_equal(word, MT_STR("deepspeed")) ||
            mt_str_equal(word, MT_STR("accelerate")) ||
            mt_str_equal(word, MT_STR("torch.distributed.run"))) {
            return true;
        }
    }
    const char *world = getenv("WORLD_SIZE");
    return world && strcmp(world, "1") != 0;
}

/* -o as it will be used, absolute (the program may change its folder). The caller frees it. */
static char *output_of(const struct capture_settings *set, char **argv, size_t n)
{
    const char *given = set->common.output;
    const char *name = given                   ? given
                       : starts_ranks(argv, n) ? "memtool-rank%r.pickle"
                                               : "memtool-%p.pickle";
    struct mt_buf path = {0};
    char *here = name[0] == '/' ? NULL : realpath(".", NULL);
    for (const char *p = here ? here : ""; *p; p++) {
        mt_buf_printf(&path, *p == '%' ? "%%%%" : "%c", *p);
    }
    mt_buf_printf(&path, "%s%s", here ? "/" : "", name);
    free(here); /* realpath's own malloc */
    if (path.failed) {
        mt_cli_die_nomem();
    }
    return path.p;
}

/* A name without %p and %r must not exist yet, as everywhere. */
static int refuse_existing(struct mt_cli *cli, const struct capture_settings *set)
{
    struct stat st;
    struct mt_error err;
    const char *name = set->common.output;
    if (set->common.force || !name || strchr(name, '%') || stat(name, &st) != 0) {
        return 0;
    }
    mt_fail(&err, MT_OUTPUT, MT_NO_OFFSET, "the file exists: %.150s", name);
    mt_hint(&err, "--force (-f) overwrites it");
    return mt_cli_fail(cli, NULL, &err);
}

/* ---- afterwards ---- */

static const char *next_verb(const char *why)
{
    return strcmp(why, "oom") == 0 ? "triage" : "info";
}

/* One line a snapshot, as the children named them; returns how many there were. */
static size_t tell_snapshots(struct mt_cli *cli, const struct mt_common *common, const char *list)
{
    FILE *f = fopen(list, "r");
    char *line = NULL;
    size_t room = 0;
    size_t n = 0;
    while (f && getline(&line, &room, f) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *path = strchr(line, '\t');
        if (!path) {
            continue;
        }
        *path++ = '\0';
        mt_cli_note(cli, common, "wrote %s (%s); next: memtool %s %s", path, line, next_verb(line),
                    path);
        n++;
    }
    free(line); /* getline's own malloc */
    if (f) {
        fclose(f);
    }
    return n;
}

static void tell_nothing(struct mt_cli *cli, const struct mt_common *common,
                         enum mt_capture_mode mode)
{
    const char *why = mode == MT_CAPTURE_TORCH || mode == MT_CAPTURE_ALLOCATOR
                          ? "the program did not start CUDA through PyTorch, or was killed"
                          : "the program asked for no CUDA memory, or was killed";
    mt_cli_note(cli, common, "no snapshot was written: %s", why);
}

/* Ends as the child ended: by the same signal, without a core of memtool's own. */
static int end_like(const struct mt_capture_end *end)
{
    if (end->signal) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(end->signal, SIG_DFL);
        raise(end->signal);
        return 128 + end->signal;
    }
    return end->exit_code;
}

static int capture(struct mt_cli *cli, const struct capture_settings *set, const char *output,
                   char **argv)
{
    struct mt_capture_plan plan = {.mode = (enum mt_capture_mode)set->mode,
                                   .output = output,
                                   .max_entries = set->max_entries,
                                   .stacks = STACKS[set->stacks],
                                   .force = set->common.force};
    struct mt_capture_folder folder;
    struct mt_capture_end end = {0};
    struct mt_error err;
    if (mt_capture_prepare(&plan, &folder, &err) != MT_OK) {
        mt_capture_folder_remove(&folder);
        return mt_cli_fail(cli, NULL, &err);
    }
    if (mt_capture_run(argv, &end, &err) != MT_OK) {
        mt_capture_folder_remove(&folder);
        mt_cli_fail(cli, argv[0], &err);
        return err.code == MT_NOT_FOUND ? 127 : 126;
    }
    if (tell_snapshots(cli, &set->common, folder.list) == 0) {
        tell_nothing(cli, &set->common, plan.mode);
    }
    mt_capture_folder_remove(&folder);
    return end_like(&end);
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    const struct capture_settings *set = settings;
    char **argv = mt_cli_realloc(NULL, n_files + 1, sizeof *argv);
    memcpy(argv, files, n_files * sizeof *argv);
    argv[n_files] = NULL;
    char *output = output_of(set, argv, n_files);
    int code = refuse_existing(cli, set);
    if (code == 0) {
        code = capture(cli, set, output, argv);
    }
    mt_mem_free(output);
    mt_mem_free(argv);
    return code;
}
