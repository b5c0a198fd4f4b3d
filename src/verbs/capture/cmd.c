/* SPDX-License-Identifier: MIT */
/* capture: record a snapshot of a program without editing it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/frame.h"
#include "support/mem.h"
#include "support/units.h"
#include "verbs/capture/attach/attach_session.h"
#include "verbs/capture/capture.h"

struct capture_settings {
    struct mt_common common;
    int mode;
    int64_t max_entries;
    int stacks;
    int64_t pid; /* 0: not given */
    int64_t for_us, within_us, steps;
    bool now, tensors, modules;
    int by;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);
static void defaults(void *settings);

static const char *const MODES[] = {"torch", "record", "cache", "allocator", NULL};
static const char *const MODES_SAY[] = {"PyTorch records itself", "a preload watches any program",
                                        "a preload serves its CUDA memory",
                                        "memtool's allocator in PyTorch", NULL};
static const char *const STACKS[] = {"python", "all", NULL};
static const char *const WAYS[] = {"any", "remote", "ptrace", "gdb", "lldb", "signal", NULL};
static const char *const WAYS_SAY[] = {"the first that can be gone",
                                       "sys.remote_exec, Python 3.14",
                                       "memtool itself, x86-64",
                                       "the debugger gdb",
                                       "the debugger lldb",
                                       "SIGUSR2, under memtool capture",
                                       NULL};

#define AT(field) offsetof(struct capture_settings, field)

static const struct mt_option OPTIONS[] = {
    MT_OPT_CHOICE(0, "mode", AT(mode), MODES,
                  "who records: torch (the default), PyTorch itself; record, a preload that "
                  "watches any program; cache, one that serves its CUDA memory too; allocator, "
                  "memtool's allocator in PyTorch",
                  .says = MODES_SAY, .common = true),
    MT_OPT_INT(0, "max-entries", AT(max_entries), "N", 1, 4e9,
               "events kept for each device, the newest (default 1,000,000)", .common = true),
    MT_OPT_CHOICE(0, "stacks", AT(stacks), STACKS,
                  "in mode torch, stacks of Python (the default), or C++ ones as well (makes a "
                  "dump a hundred times slower)"),
    MT_OPT_FLAG(0, "modules", AT(modules),
                "in mode torch, label every allocation with the nn.Module that it is made for "
                "(PyTorch 2.10 and later), for peak --by module",
                .common = true),
    MT_OPT_TEXT('o', "output", offsetof(struct mt_common, output), "FILE",
                "write snapshots to FILE, a pickle; %p is the process id, %r the rank, %% a % "
                "(default memtool-%p.pickle, under torchrun memtool-rank%r.pickle)",
                .common = true),
    MT_OPT_FLAG('f', "force", offsetof(struct mt_common, force),
                "replace files of that name that are there when the program starts",
                .common = true),
};

static enum mt_status parse_duration(void *field, const char *text, struct mt_error *err)
{
    int64_t *us = field;
    if (mt_duration_parse(mt_str_from(text), us) && *us > 0) {
        return MT_OK;
    }
    return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "is a time like 30s, 5m or 1h");
}

static const struct mt_option RUNNING[] = {
    MT_OPT_INT(0, "pid", AT(pid), "PID", 1, INT32_MAX,
               "reach into this running Python process in place of starting a program",
               .common = true),
    MT_OPT_FLAG(0, "now", AT(now),
                "write what it holds at this moment, with the history that it has (the default)"),
    MT_OPT_CUSTOM(0, "for", AT(for_us), "TIME", parse_duration,
                  "switch its recording on, write a snapshot after TIME (60s), and leave the "
                  "recording as it was",
                  .common = true),
    MT_OPT_INT(0, "steps", AT(steps), "N", 1, 1e9,
               "the same, until its optimizers have made N steps (or --for is over, 10m)",
               .common = true),
    MT_OPT_FLAG(0, "tensors", AT(tensors),
                "with the live tensors: shape, type, the name of a parameter, and who keeps them",
                .common = true),
    MT_OPT_CUSTOM(0, "within", AT(within_us), "TIME", parse_duration,
                  "how long the process may take until it can be reached (default 30s)"),
    MT_OPT_CHOICE(0, "by", AT(by), WAYS, "the way into the process (default: the first that works)",
                  .says = WAYS_SAY),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Capture", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
    {.title = "A process that runs already", .options = RUNNING, .n = MT_COUNT(RUNNING)}};

const struct mt_command mt_cmd_capture = {
    .name = "capture",
    .summary = "record a snapshot of a program, without editing it",
    .usage = "[options] -- PROGRAM [ARGUMENT...] | [options] --pid PID",
    .description =
        "Runs a program with its memory recording switched on from outside, and writes a snapshot "
        "when memory runs out, when the program ends, and on SIGUSR2. In the name, %p stands for "
        "the process id and %r for the rank (default: memtool-%p.pickle, under torchrun "
        "memtool-rank%r.pickle). Exit code, signals and terminal are the program's own. With --pid "
        "it "
        "reaches into a Python process that runs already, and leaves it as it was.",
    .examples = "memtool capture -- python train.py\n"
                "memtool capture -o run-%r.pickle -- torchrun --nproc-per-node 8 train.py\n"
                "memtool capture --pid 4711 --tensors\n"
                "memtool capture --pid 4711 --for 60s -o run.pickle\n"
                "memtool capture --mode record -- ./simulation",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .settings_size = sizeof(struct capture_settings),
    .defaults = defaults,
    .min_files = 0,
    .max_files = -1,
    .flags =
        MT_COMMAND_STARTS | MT_COMMAND_NO_SNAPSHOT | MT_COMMAND_NO_REPORT | MT_COMMAND_SNAPSHOT,
    .run = run,
};

static void defaults(void *settings)
{
    struct capture_settings *set = settings;
    set->max_entries = 1000000;
    set->within_us = 30000000;
}

/* ---- afterwards ---- */

static const char *next_verb(const char *why)
{
    return strcmp(why, "oom") == 0 ? "triage" : "info";
}

/* One line a snapshot, as the children named them. */
static void tell_snapshots(struct mt_cli *cli, const struct mt_common *common,
                           const struct mt_capture_told *told)
{
    for (size_t i = 0; i < told->records.n; i++) {
        const char *why = told->records.v[i];
        const char *path = why + strlen(why) + 1;
        if (access(path, F_OK) != 0 && errno == ENOENT) { /* removed, or of a program in a jail */
            mt_cli_note(cli, common, "wrote %s (%s), but there is no such file now", path, why);
            continue;
        }
        mt_cli_note(cli, common, "wrote %s (%s); next: memtool %s %s", path, why, next_verb(why),
                    path);
    }
}

static void tell_why_nothing(struct mt_cli *cli, const struct capture_settings *set,
                             const char *program, const struct mt_capture_end *end,
                             const struct mt_capture_marks *marks)
{
    struct mt_buf why = {0};
    mt_capture_why_nothing(&why, (enum mt_capture_mode)set->mode, program, end, marks);
    if (why.failed) {
        mt_cli_die_nomem();
    }
    mt_cli_note(cli, &set->common, "no snapshot was written: %s", why.p);
    mt_buf_release(&why);
}

/* No process told of a snapshot, but one is there: a process that has changed its user, say, cannot
 * write the list, which is private. */
static bool tell_found(struct mt_cli *cli, const struct capture_settings *set,
                       const struct mt_capture_plan *plan)
{
    size_t n = 0;
    char *found = mt_capture_output_found(plan->output, plan->begun_ns, &n);
    if (!found) {
        return false;
    }
    char more[64] = "";
    if (n > 1) {
        (void)snprintf(more, sizeof more, " and %zu more of such names are", n - 1);
    }
    mt_cli_note(cli, &set->common,
                "%s%s there now, though no process told of %s; next: memtool info %s", found,
                n > 1 ? more : " is", n > 1 ? "them" : "it", found);
    mt_mem_free(found);
    return true;
}

/* What came of it; the folder goes, unless a process still needs it. */
static void conclude(struct mt_cli *cli, const struct capture_settings *set, const char *program,
                     const struct mt_capture_plan *plan, const struct mt_capture_end *end,
                     struct mt_capture_folder *folder)
{
    struct mt_capture_told told = {0};
    mt_capture_told_read(&told, folder->list);
    pid_t running = mt_capture_still_running(&told);
    tell_snapshots(cli, &set->common, &told);
    if (running) {
        mt_cli_note(cli, &set->common,
                    "process %ld still runs: what it writes later is not told here, and %s stays",
                    (long)running, folder->path);
        mt_capture_folder_leave(folder);
    } else {
        if (told.lost) {
            mt_cli_note(cli, &set->common,
                        "what the program wrote is not known: %s, where it tells, is gone or "
                        "cannot be read",
                        folder->list);
        } else if (told.records.n == 0 && !tell_found(cli, set, plan)) {
            tell_why_nothing(cli, set, program, end, &told.marks);
        }
        mt_capture_folder_remove(folder);
    }
    mt_capture_told_release(&told);
}

/* Ends as the child ended: by the same signal, without a core of memtool's own. */
static int end_like(const struct mt_capture_end *end)
{
    if (end->signal) {
        struct rlimit none = {0, 0};
        sigset_t it;
        setrlimit(RLIMIT_CORE, &none);
        sigemptyset(&it);
        sigaddset(&it, end->signal);
        signal(end->signal, SIG_DFL);
        raise(end->signal);
        sigprocmask(SIG_UNBLOCK, &it, NULL); /* memtool may have been started with it blocked */
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
                                   .modules = set->modules,
                                   .begun_ns = mt_capture_since(output)};
    plan.since_ns = set->common.force ? plan.begun_ns : 0;
    struct mt_capture_folder folder;
    struct mt_capture_end end = {0};
    struct mt_error err;
    if (mt_capture_prepare(&plan, &folder, &err) != MT_OK) {
        mt_capture_folder_remove(&folder);
        return mt_cli_fail(cli, NULL, &err);
    }
    if (mt_capture_run(argv, &end, &err) != MT_OK) {
        mt_capture_folder_remove(&folder);
        mt_capture_hint_start(argv[0], &err);
        mt_cli_fail(cli, argv[0], &err);
        return err.code == MT_NOT_FOUND ? 127 : 126;
    }
    conclude(cli, set, argv[0], &plan, &end, &folder);
    return end_like(&end);
}

/* ---- a process that runs already ---- */

static int attach(struct mt_cli *cli, const struct capture_settings *set)
{
    enum { STEPS_AT_MOST_US = 600000000 };
    bool record = set->for_us > 0 || set->steps > 0;
    if (set->mode != MT_CAPTURE_TORCH) {
        return mt_cli_usage(cli, "--pid: PyTorch itself records in a process that runs already "
                                 "(--mode torch)");
    }
    if (record && set->now) {
        return mt_cli_usage(cli, "--now waits for nothing: leave it, or --for and --steps, out");
    }
    struct mt_attach_request request = {
        .pid = (pid_t)set->pid,
        .record = record,
        .record_us = set->for_us ? set->for_us : STEPS_AT_MOST_US,
        .steps = set->steps,
        .begin_us = set->within_us,
        .tensors = set->tensors,
        .max_entries = set->max_entries,
        .stacks = STACKS[set->stacks],
        .output = set->common.output,
        .force = set->common.force,
        .way = (enum mt_attach_way)set->by,
    };
    return mt_attach_session(cli, &set->common, &request);
}

static int check_call(struct mt_cli *cli, const struct capture_settings *set, size_t n_files)
{
    if (set->pid && n_files) {
        return mt_cli_usage(cli, "--pid is of a process that runs already: no PROGRAM beside it");
    }
    if (!set->pid && (set->for_us || set->steps || set->now || set->tensors || set->by)) {
        return mt_cli_usage(cli, "--now, --for, --steps, --tensors and --by need --pid PID");
    }
    if (set->modules && (set->pid || set->mode != MT_CAPTURE_TORCH)) {
        return mt_cli_usage(cli, "--modules labels from the start of a program on, in mode torch");
    }
    return set->pid || n_files ? 0 : mt_cli_missing(cli, &mt_cmd_capture, 0);
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    const struct capture_settings *set = settings;
    int wrong = check_call(cli, set, n_files);
    if (wrong || set->pid) {
        return wrong ? wrong : attach(cli, set);
    }
    char **argv = mt_cli_realloc(NULL, n_files + 1, sizeof *argv);
    memcpy(argv, files, n_files * sizeof *argv);
    argv[n_files] = NULL;
    char *output = mt_capture_output(set->common.output, argv);
    struct mt_error err;
    int code;
    if (mt_capture_output_check(set->common.output, output, set->common.force, &err) != MT_OK) {
        code = mt_cli_fail(cli, NULL, &err);
    } else {
        code = capture(cli, set, output, argv);
    }
    mt_mem_free(output);
    mt_mem_free(argv);
    return code;
}
