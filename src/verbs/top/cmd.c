/* SPDX-License-Identifier: MIT */
/* top: what the cards and the processes on them hold now, and where it goes. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/frame.h"
#include "support/mem.h"
#include "support/units.h"
#include "verbs/top/top.h"

struct top_settings {
    struct mt_common common;
    struct mt_texts pids;
    bool all, once;
    int64_t interval_us;
    const char *prometheus;
};

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files);
static void defaults(void *settings);

#define AT(field) offsetof(struct top_settings, field)

static enum mt_status parse_interval(void *field, const char *text, struct mt_error *err)
{
    int64_t *us = field;
    if (mt_duration_parse(mt_str_from(text), us) && *us >= 100000 && *us <= 3600000000) {
        return MT_OK;
    }
    return mt_fail(err, MT_USAGE, MT_NO_OFFSET, "is a time from 100ms to 1h, like 2s");
}

static const struct mt_option OPTIONS[] = {
    MT_OPT_TEXTS(0, "pid", AT(pids), "PID",
                 "watch this Python process from within, as capture --pid reaches it; may be given "
                 "again",
                 .common = true),
    MT_OPT_FLAG(0, "all", AT(all), "watch every process on the cards that can be reached",
                .common = true),
    MT_OPT_FLAG(0, "once", AT(once), "print one screen, as soon as there are rates, and end",
                .common = true),
    MT_OPT_CUSTOM(0, "interval", AT(interval_us), "TIME", parse_interval,
                  "time between two screens (default 1s)", .common = true),
    MT_OPT_TEXT(
        0, "prometheus", AT(prometheus), "FILE",
        "write the figures into FILE each time, as a whole, in the text format of Prometheus",
        .common = true),
};

static const struct mt_option_group GROUPS[] = {
    {.title = "Watching", .options = OPTIONS, .n = MT_COUNT(OPTIONS)},
};

const struct mt_command mt_cmd_top = {
    .name = "top",
    .summary = "what the cards and their processes hold now",
    .usage = "[options]",
    .description =
        "Shows on one screen, again and again, what each card has free, what PyTorch in the "
        "watched "
        "processes reserves and holds, its largest hole, how many requests its cache serves, calls "
        "of the driver a second, whether it grows, and when the card will then be full. Ctrl-C "
        "ends it; the processes are left as they were.",
    .examples = "memtool top --pid 4711\n"
                "memtool top --all --once --json\n"
                "memtool top --all --interval 15s --prometheus memtool.prom",
    .groups = GROUPS,
    .n_groups = MT_COUNT(GROUPS),
    .settings_size = sizeof(struct top_settings),
    .defaults = defaults,
    .min_files = 0,
    .max_files = 0,
    .flags = MT_COMMAND_NO_SNAPSHOT,
    .run = run,
};

static void defaults(void *settings)
{
    struct top_settings *set = settings;
    set->interval_us = 1000000;
}

/* ---- which ---- */

static bool is_watched(const struct mt_top *top, pid_t pid)
{
    return mt_top_watched_of(top, pid) != NULL;
}

static void watch_all(struct mt_top *top, int64_t interval_us)
{
    for (size_t i = 0; i < top->cards.users.n; i++) {
        pid_t pid = top->cards.users.v[i].pid;
        if (!is_watched(top, pid)) {
            mt_top_watch(top, pid, interval_us);
        }
    }
}

static int watch_named(struct mt_cli *cli, struct mt_top *top, const struct top_settings *set)
{
    for (size_t i = 0; i < set->pids.n; i++) {
        char *end;
        errno = 0;
        long pid = strtol(set->pids.v[i], &end, 10);
        if (*end || end == set->pids.v[i] || pid < 1 || pid > INT32_MAX || errno) {
            return mt_cli_usage(cli, "--pid: not the number of a process: %.40s", set->pids.v[i]);
        }
        if (!is_watched(top, (pid_t)pid)) {
            mt_top_watch(top, (pid_t)pid, set->interval_us);
        }
    }
    return 0;
}

/* ---- again and again ---- */

static enum mt_status write_prometheus(struct mt_cli *cli, const struct mt_top *top,
                                       const struct top_settings *set, struct mt_error *err)
{
    struct mt_cli_output o;
    struct mt_common common = set->common;
    common.force = true; /* its own of the last time */
    MT_TRY(mt_cli_output_open(cli, &common, set->prometheus, &o, err));
    mt_top_prometheus(top, o.stream);
    return mt_cli_output_commit(&o, err);
}

static enum mt_status show(struct mt_cli *cli, const struct mt_top *top,
                           const struct top_settings *set, struct mt_error *err)
{
    struct mt_report r = mt_cli_report(cli, &set->common, NULL);
    if (set->prometheus) {
        MT_TRY(write_prometheus(cli, top, set, err));
    }
    if (r.json) {
        MT_TRY(mt_top_json(top, &r, !set->once, err));
    } else if (cli->out_is_terminal || set->once || !set->prometheus) {
        if (cli->out_is_terminal && !set->once) {
            fputs("\033[H\033[J", r.out);
        }
        MT_TRY(mt_top_print(top, &r, err));
    }
    return fflush(r.out) == 0 ? MT_OK
                              : mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "%s", mt_stream_why(r.out));
}

/* Waits; the signal that is to end memtool, 0: none came. */
static int nap(int64_t us, const sigset_t *set)
{
    struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    int came = sigtimedwait(set, NULL, &t);
    return came > 0 ? came : 0;
}

static bool all_have_ended(const struct mt_top *top)
{
    size_t ended = 0;
    for (size_t i = 0; i < top->watched.n; i++) {
        ended += top->watched.v[i].why[0] != '\0';
    }
    return top->watched.n > 0 && ended == top->watched.n;
}

/* A rate needs two moments of each process that is watched. */
static bool have_rates(const struct mt_top *top)
{
    size_t with = 0, watched = 0;
    for (size_t i = 0; i < top->watched.n; i++) {
        watched += !top->watched.v[i].why[0];
    }
    for (size_t i = 0; i < top->rows.n; i++) {
        with += top->rows.v[i].has_before;
    }
    return with >= watched;
}

static enum mt_status repeat(struct mt_cli *cli, struct mt_top *top, const struct top_settings *set,
                             const sigset_t *signals, int *came, struct mt_error *err)
{
    enum { MOST = 30 }; /* intervals that --once waits for the processes */
    for (int i = 1;; i++) {
        *came = nap(set->interval_us + set->interval_us / 10, signals);
        mt_top_read(top);
        if (set->all) {
            watch_all(top, set->interval_us);
        }
        if (*came) {
            return MT_OK;
        }
        if (set->once && i < MOST && !have_rates(top)) {
            continue;
        }
        MT_TRY(show(cli, top, set, err));
        if (set->once || (!set->all && all_have_ended(top))) {
            return MT_OK;
        }
    }
}

/* Nothing could be watched of what was named. */
static bool in_vain(const struct mt_top *top, const struct top_settings *set)
{
    return set->pids.n > 0 && top->rows.n == 0 && all_have_ended(top);
}

static int run(struct mt_cli *cli, void *settings, char **files, size_t n_files)
{
    const struct top_settings *set = settings;
    struct mt_top top = {0};
    struct mt_error err;
    sigset_t signals, before;
    int came = 0;
    (void)files;
    (void)n_files;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, &before);
    mt_top_cards_open(&top.cards);
    mt_top_cards_read(&top.cards);
    int code = watch_named(cli, &top, set);
    if (code == 0 && set->all) {
        watch_all(&top, set->interval_us);
    }
    if (code == 0 && repeat(cli, &top, set, &signals, &came, &err) != MT_OK) {
        code = mt_cli_fail(cli, NULL, &err);
    }
    code = code == 0 && in_vain(&top, set) ? mt_status_exit_code(MT_NOT_FOUND) : code;
    mt_top_release(&top);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (came && came != SIGINT) {
        raise(came);
    }
    return code;
}
