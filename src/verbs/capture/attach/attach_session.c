/* SPDX-License-Identifier: MIT */
/*
 * capture --pid. memtool makes a private folder where the process can see it, writes the script
 * into it, has the process run it, and waits for the files in which the script tells how far it is.
 * Whatever happens the folder goes, and with it what may still run in the process.
 */
#define _GNU_SOURCE
#include "verbs/capture/attach/attach_session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/frame.h"
#include "support/mem.h"
#include "support/units.h"
#include "verbs/capture/attach/attach_folder.h"
#include "verbs/capture/capture.h"

struct session {
    struct mt_cli *cli;
    const struct mt_common *common;
    const struct mt_attach_request *request;
    struct mt_attach_target target;
    enum mt_attach_way used;
    struct mt_attach_folder folder;
    char *output;
    sigset_t before;
    int signal; /* that is to end memtool, 0: none came */
};

static const char *const WAYS[] = {
    [MT_ATTACH_ANY] = "?",          [MT_ATTACH_REMOTE] = "sys.remote_exec",
    [MT_ATTACH_PTRACE] = "memtool", [MT_ATTACH_GDB] = "gdb",
    [MT_ATTACH_LLDB] = "lldb",      [MT_ATTACH_DOOR] = "SIGUSR2"};

/* ---- the script ---- */

static enum mt_status write_script(const struct session *s, struct mt_error *err)
{
    const struct mt_attach_request *r = s->request;
    struct mt_buf settings = {0};
    mt_buf_printf(&settings,
                  "'action': '%s', 'seconds': %.3f, 'steps': %lld, 'tensors': %s, 'entries': %lld, "
                  "'stacks': '%s'",
                  r->record ? "record" : "now", (double)r->record_us / 1e6, (long long)r->steps,
                  r->tensors ? "True" : "False", (long long)r->max_entries, r->stacks);
    enum mt_status status = mt_attach_folder_script(&s->folder, &settings, mt_embedded_attach,
                                                    mt_embedded_attach_n, err);
    mt_buf_release(&settings);
    return status;
}

/* ---- waiting ---- */

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void watch_signals(struct session *s)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, &s->before);
}

static bool told(const struct session *s, const char *name)
{
    return mt_attach_folder_has(&s->folder, name);
}

static bool alive(const struct session *s)
{
    struct mt_attach_target now;
    struct mt_error ignored;
    return mt_attach_look(s->target.pid, &now, &ignored) == MT_OK || ignored.code != MT_NOT_FOUND;
}

/* Until the script has told `name`; false when time is over, the process ends or a signal comes. */
static bool wait_for(struct session *s, const char *name, int64_t us)
{
    enum { LOOK = 25 }; /* rounds of 20 ms between two looks at the process */
    const struct timespec nap = {.tv_nsec = 20000000};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    int64_t end = now_us() + us;
    for (int i = 1; !told(s, name); i++) {
        if (told(s, "result")) {
            return false;
        }
        int came = sigtimedwait(&set, NULL, &nap);
        if (came > 0) {
            s->signal = came;
            return false;
        }
        if (now_us() > end || (i % LOOK == 0 && !alive(s))) {
            return told(s, name);
        }
    }
    return true;
}

/* ---- what came of it ---- */

void mt_attach_result_read(struct mt_attach_result *out, const char *text)
{
    *out = (struct mt_attach_result){0};
    const char *rest = strchr(text, '\n');
    rest = rest ? rest + 1 : "";
    out->ok = strncmp(text, "ok\n", 3) == 0;
    if (strncmp(text, "refused\n", 8) == 0) {
        snprintf(out->refusal, sizeof out->refusal, "%s", rest);
    } else if (!out->ok) {
        snprintf(out->failure, sizeof out->failure, "%s", *rest ? rest : "it told nothing");
    }
    for (const char *line = rest; out->ok && line && *line;) {
        unsigned long long n;
        double ms;
        if (sscanf(line, "recording %llu", &n) == 1) {
            out->was_recording = n != 0;
        } else if (sscanf(line, "steps %llu", &n) == 1) {
            out->steps = n;
        } else if (sscanf(line, "tensors %llu", &n) == 1) {
            out->tensors = n;
        } else if (sscanf(line, "stopped_ms %lf", &ms) == 1) {
            out->stopped_ms = ms;
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
}

static void read_result(const struct session *s, struct mt_attach_result *out)
{
    struct mt_buf text = {0};
    mt_attach_folder_read(&s->folder, "result", &text);
    mt_attach_result_read(out, text.p);
    mt_buf_release(&text);
}

/* Gives the snapshot its name and place. */
static enum mt_status fetch(const struct session *s, struct mt_error *err)
{
    struct mt_cli_output out;
    char block[65536];
    size_t n;
    bool ok = true;
    FILE *f = mt_attach_folder_open(&s->folder, "snapshot.pickle");
    if (!f) {
        return mt_fail(err, MT_IO, MT_NO_OFFSET, "the snapshot cannot be read: %s",
                       strerror(errno));
    }
    struct mt_common common = *s->common;
    common.force = s->request->force;
    enum mt_status status = mt_cli_output_open(s->cli, &common, s->output, &out, err);
    if (status != MT_OK) {
        fclose(f);
        return status;
    }
    while (ok && (n = fread(block, 1, sizeof block, f)) > 0) {
        ok = fwrite(block, 1, n, out.stream) == n;
    }
    ok = ok && !ferror(f);
    fclose(f);
    if (!ok) {
        mt_cli_output_abandon(&out);
        return mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "%.150s: %s", s->output, strerror(errno));
    }
    return mt_cli_output_commit(&out, err);
}

static void tell_written(const struct session *s, const struct mt_attach_result *r)
{
    struct mt_buf b = {0};
    mt_buf_printf(&b, "wrote %s (process %ld, by %s; it stood still for %s", s->output,
                  (long)s->target.pid, WAYS[s->used],
                  mt_duration_text((int64_t)(r->stopped_ms * 1000)).s);
    if (s->request->tensors) {
        mt_buf_printf(&b, "; %llu tensors named", (unsigned long long)r->tensors);
    }
    if (s->request->record && r->was_recording) {
        mt_buf_text(&b, "; it recorded before and still does");
    } else if (s->request->record) {
        mt_buf_text(&b, "; its recording is off again");
    } else if (!r->was_recording) {
        mt_buf_text(&b, "; it does not record, so there is no history");
    }
    if (b.failed) {
        mt_cli_die_nomem();
    }
    mt_cli_note(s->cli, s->common, "%s); next: memtool %s %s", b.p,
                s->request->record    ? "leaks"
                : s->request->tensors ? "peak --by label"
                                      : "peak",
                s->output);
    mt_buf_release(&b);
}

static enum mt_status conclude(const struct session *s, struct mt_error *err)
{
    struct mt_attach_result r;
    read_result(s, &r);
    if (r.refusal[0]) {
        return mt_attach_folder_refused(r.refusal, s->target.pid, err);
    }
    if (!r.ok) {
        mt_fail(err, MT_IO, MT_NO_OFFSET, "the process made no snapshot: %s", r.failure);
        return strstr(r.failure, "does not yet support")
                   ? mt_hint(err, "its allocator is not PyTorch's own; next time: memtool capture "
                                  "--mode allocator -- PROGRAM")
                   : err->code;
    }
    MT_TRY(fetch(s, err));
    tell_written(s, &r);
    return MT_OK;
}

/* The script has not told that it began, or that it is done. */
static enum mt_status gave_up(const struct session *s, bool began, struct mt_error *err)
{
    long pid = (long)s->target.pid;
    if (s->signal) {
        return mt_fail(err, MT_IO, MT_NO_OFFSET, "interrupted; process %ld goes on", pid);
    }
    if (!alive(s)) {
        return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET, "process %ld has ended meanwhile", pid);
    }
    if (began) {
        mt_fail(err, MT_IO, MT_NO_OFFSET, "process %ld has not finished the snapshot", pid);
        return mt_hint(err, "is there room in its /tmp? df /tmp");
    }
    mt_fail(err, MT_IO, MT_NO_OFFSET,
            "the main thread of process %ld has not come back to Python within %s; it will find "
            "nothing to do",
            pid, mt_duration_text(s->request->begin_us).s);
    return mt_hint(err, "it waits in a library or for a thread; --within 10m waits longer");
}

/* ---- the process's own door ---- */

/* Whether memtool capture started it, so that SIGUSR2 makes a snapshot. */
static bool has_door(const struct session *s)
{
    char *list = mt_attach_environment(&s->target, "MEMTOOL_CAPTURE_LIST");
    bool catches = s->target.caught >> (SIGUSR2 - 1) & 1;
    bool is = list && catches;
    mt_mem_free(list);
    return is;
}

static enum mt_status by_door(struct session *s, struct mt_error *err)
{
    if (!has_door(s)) {
        mt_fail(err, MT_UNSUPPORTED, MT_NO_OFFSET, "process %ld does not run under memtool capture",
                (long)s->target.pid);
        return mt_hint(err, "next time: memtool capture -- PROGRAM");
    }
    if (s->request->record || s->request->tensors) {
        return mt_fail(err, MT_UNSUPPORTED, MT_NO_OFFSET,
                       "under memtool capture a process answers SIGUSR2 with the snapshot alone, "
                       "without --for, --steps and --tensors");
    }
    if (kill(s->target.pid, SIGUSR2) != 0) {
        return mt_attach_refused(&s->target, errno, err);
    }
    s->used = MT_ATTACH_DOOR;
    mt_cli_note(s->cli, s->common,
                "process %ld runs under memtool capture and was sent SIGUSR2: it writes the "
                "snapshot where that capture's -o says, and that capture tells its name",
                (long)s->target.pid);
    return MT_OK;
}

/* ---- from the beginning ---- */

/* -o with the marks of that process in it. */
static char *output_of(const struct session *s)
{
    char *argv[] = {NULL};
    struct mt_buf b = {0};
    char *pattern = mt_capture_output(s->request->output, argv);
    char *rank = mt_attach_environment(&s->target, "RANK");
    for (const char *p = pattern; *p; p++) {
        if (*p != '%') {
            mt_buf_char(&b, *p);
        } else if (*++p == 'p') {
            mt_buf_printf(&b, "%ld", (long)s->target.pid);
        } else if (*p == 'r') {
            bool number = rank && *rank && strlen(rank) < 10 && !rank[strspn(rank, "0123456789")];
            mt_buf_text(&b, number ? rank : "0");
        } else {
            mt_buf_char(&b, '%');
        }
    }
    if (b.failed) {
        mt_cli_die_nomem();
    }
    mt_mem_free(pattern);
    mt_mem_free(rank);
    return b.p;
}

/* The output may be refused before the process is touched. */
static enum mt_status check_output(struct session *s, struct mt_error *err)
{
    char *argv[] = {NULL};
    struct mt_buf given = {0};
    char *pattern = mt_capture_output(s->request->output, argv);
    enum mt_status status =
        mt_capture_output_check(s->request->output, pattern, s->request->force, err);
    mt_mem_free(pattern);
    if (status != MT_OK) {
        return status;
    }
    s->output = output_of(s);
    for (const char *p = s->output; *p; p++) {
        mt_buf_printf(&given, *p == '%' ? "%%%%" : "%c", *p);
    }
    if (given.failed) {
        mt_cli_die_nomem();
    }
    status = mt_capture_output_check(given.p, given.p, s->request->force, err);
    mt_buf_release(&given);
    return status;
}

static enum mt_status wait_and_fetch(struct session *s, struct mt_error *err)
{
    enum { FINISH_US = 600000000 }; /* a dump of a million events takes half a minute */
    const struct mt_attach_request *r = s->request;
    bool began = wait_for(s, "begun", r->begin_us);
    if (began && r->record && wait_for(s, "recording", FINISH_US)) {
        mt_cli_note(s->cli, s->common, "process %ld records now%s", (long)s->target.pid,
                    r->steps ? ", until its optimizer has made the steps" : "");
    }
    if (began && !s->signal && wait_for(s, "result", (r->record ? r->record_us : 0) + FINISH_US)) {
        return conclude(s, err);
    }
    return told(s, "result") && !s->signal ? conclude(s, err) : gave_up(s, began, err);
}

static enum mt_status attach(struct session *s, struct mt_error *err)
{
    MT_TRY(mt_attach_look(s->request->pid, &s->target, err));
    MT_TRY(check_output(s, err));
    if (s->request->way == MT_ATTACH_DOOR) {
        return by_door(s, err);
    }
    MT_TRY(mt_attach_folder_make(&s->folder, &s->target, err));
    MT_TRY(write_script(s, err));
    enum mt_status status =
        mt_attach_folder_run(&s->folder, &s->target, s->request->way, &s->used, err);
    if (status != MT_OK && s->request->way == MT_ATTACH_ANY && !s->request->record &&
        !s->request->tensors && has_door(s)) {
        return by_door(s, err);
    }
    return status == MT_OK ? wait_and_fetch(s, err) : status;
}

int mt_attach_session(struct mt_cli *cli, const struct mt_common *common,
                      const struct mt_attach_request *request)
{
    struct session s = {.cli = cli, .common = common, .request = request};
    struct mt_error err;
    watch_signals(&s);
    enum mt_status status = attach(&s, &err);
    mt_attach_folder_remove(&s.folder);
    sigprocmask(SIG_SETMASK, &s.before, NULL);
    if (s.signal) {
        raise(s.signal);
    }
    mt_mem_free(s.output);
    return status == MT_OK ? 0 : mt_cli_fail(cli, NULL, &err);
}
