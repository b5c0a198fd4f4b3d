/* SPDX-License-Identifier: MIT */
/* The ways into a Python process: which one is taken, and those that other programs go. */
#define _GNU_SOURCE
#include "verbs/capture/attach/attach.h"
#include "verbs/capture/attach/attach_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/mem.h"

enum { REMOTE_SINCE = 314, HELPER_SECONDS = 60 };

void mt_attach_text(struct mt_buf *b, const char *script, uint64_t page)
{
    mt_buf_printf(b,
                  "try:\n"
                  " exec(compile((lambda f:[f.read(),f.close()][0])(open('%s')),'memtool','exec'),"
                  "{'__name__':'memtool_attach','page':%20llu})\n"
                  "except BaseException:\n"
                  " pass\n",
                  script, (unsigned long long)page);
}

/* ---- another program does it ---- */

static void reap(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* Reads what it prints for at most HELPER_SECONDS. */
static bool listen_to(int from, struct mt_buf *said)
{
    struct timespec begin, now;
    char text[1024];
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (;;) {
        ssize_t n = read(from, text, sizeof text);
        if (n > 0) {
            mt_buf_add(said, text, (size_t)n);
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            return n == 0;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - begin.tv_sec > HELPER_SECONDS) {
            return false;
        }
        nanosleep(&(struct timespec){.tv_nsec = n > 0 ? 0 : 5000000}, NULL);
    }
}

static void become(const char *const *argv, int out)
{
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(out, 1);
    dup2(out, 2);
    unsetenv("LD_PRELOAD");
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

int mt_attach_helper(const char *const *argv, struct mt_buf *said)
{
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    pid_t child = fork();
    if (child == 0) {
        become(argv, ends[1]);
    }
    close(ends[1]);
    bool ended = child > 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && listen_to(ends[0], said);
    close(ends[0]);
    mt_buf_char(said, '\0');
    if (child > 0 && !ended) {
        reap(child);
        return -1;
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : -1;
}

/* The last line that it printed. */
static const char *last_line(struct mt_buf *said)
{
    if (said->failed || !said->p) {
        return "";
    }
    for (size_t n = strlen(said->p); n > 0 && strchr("\n\r ", said->p[n - 1]); n--) {
        said->p[n - 1] = '\0';
    }
    const char *line = strrchr(said->p, '\n');
    return line ? line + 1 : said->p;
}

/* ---- Python 3.14 ---- */

enum mt_status mt_attach_by_remote(const struct mt_attach_target *target, const char *script,
                                   struct mt_error *err)
{
    char pid[24], root[48], exe[sizeof target->exe + 48];
    struct mt_buf said = {0};
    enum mt_status status = MT_OK;
    snprintf(pid, sizeof pid, "%ld", (long)target->pid);
    snprintf(root, sizeof root, "/proc/%ld/root", (long)target->pid);
    snprintf(exe, sizeof exe, "%s%s", target->own_mounts ? root : "", target->exe);
    const char *const argv[] = {
        exe, "-I",   "-S", "-c", "import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])",
        pid, script, NULL};
    int code = mt_attach_helper(argv, &said);
    if (code != 0) {
        const char *line = last_line(&said);
        status = strstr(line, "PermissionError") || strstr(line, "not permitted")
                     ? mt_attach_refused(target, EPERM, err)
                     : mt_fail(err, MT_IO, MT_NO_OFFSET, "sys.remote_exec of %.60s: %.150s",
                               target->exe, *line ? line : "it did not answer");
    }
    mt_buf_release(&said);
    return status;
}

/* ---- a debugger ---- */

/* The words of gdb: the same two calls that attach_ptrace.c makes. */
static void gdb_script(struct mt_buf *b, const struct mt_attach_target *t, const char *script)
{
    struct mt_buf text = {0};
    mt_attach_text(&text, script, 0);
    mt_buf_printf(b,
                  "set $page = ((unsigned long (*)(unsigned long, unsigned long, int, int, int, "
                  "long))mmap)(0, %d, 3, 0x22, -1, 0)\n"
                  "eval \"set var {char[%zu]} %%lu = \\\"",
                  MT_ATTACH_PAGE, text.n + 1);
    for (size_t i = 0; i < text.n; i++) {
        if (strncmp(text.p + i, "'page':", 7) == 0) {
            mt_buf_text(b, "'page':%20lu");
            i += 7 + 20 - 1;
        } else {
            mt_buf_printf(b, text.p[i] == '\n' ? "\\\\n" : "%c", text.p[i]);
        }
    }
    mt_buf_printf(b,
                  "\\\"\", $page, $page\n"
                  "p ((int (*)(void *, unsigned long))%llu)((void *)%llu, $page) ? \"MEMTOOL NO\" "
                  ": \"MEMTOOL YES\"\n",
                  (unsigned long long)t->call, (unsigned long long)t->run);
    b->failed |= text.failed;
    mt_buf_release(&text);
}

static void lldb_script(struct mt_buf *b, const struct mt_attach_target *t, const char *script)
{
    struct mt_buf text = {0};
    mt_attach_text(&text, script, 0);
    mt_buf_printf(b,
                  "expr -- unsigned long $page = ((unsigned long (*)(unsigned long, unsigned long, "
                  "int, int, int, long))mmap)(0, %d, 3, 0x22, -1, 0)\n"
                  "expr -- (void *)((void *(*)(void *, const char *))strcpy)((void *)$page, \"",
                  MT_ATTACH_PAGE);
    for (size_t i = 0; i < text.n; i++) {
        mt_buf_printf(b, text.p[i] == '\n' ? "\\n" : "%c", text.p[i]);
    }
    mt_buf_printf(b,
                  "\")\n"
                  "expr -- ((int (*)(void *, unsigned long))%llu)((void *)%llu, $page) ? \"MEMTOOL "
                  "NO\" : \"MEMTOOL YES\"\n",
                  (unsigned long long)t->call, (unsigned long long)t->run);
    b->failed |= text.failed;
    mt_buf_release(&text);
}

static enum mt_status no_debugger(bool lldb, struct mt_error *err)
{
    const char *name = lldb ? "lldb" : "gdb";
    mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET, "there is no %s on this machine", name);
    return mt_hint(err, "sudo apt-get install %s, or sudo dnf install %s", name, name);
}

static enum mt_status run_debugger(const struct mt_attach_target *target, const char *words,
                                   bool lldb, struct mt_error *err)
{
    char pid[24];
    struct mt_buf said = {0};
    enum mt_status status = MT_OK;
    snprintf(pid, sizeof pid, "%ld", (long)target->pid);
    /* libraries are left aside but for libc: those of CUDA take gdb half a minute, all stopped */
    const char *const gdb[] = {"gdb",
                               "-nx",
                               "-batch",
                               "-iex",
                               "set auto-solib-add off",
                               "-p",
                               pid,
                               "-ex",
                               "sharedlibrary libc\\.",
                               "-x",
                               words,
                               "-ex",
                               "detach",
                               NULL};
    const char *const it[] = {"lldb", "--batch", "--no-lldbinit", "-p", pid, "-s", words, NULL};
    int code = mt_attach_helper(lldb ? it : gdb, &said);
    if (code == 127) {
        status = no_debugger(lldb, err);
    } else if (said.failed || !said.p || !strstr(said.p, "MEMTOOL YES\"")) {
        status = said.p && (strstr(said.p, "not permitted") || strstr(said.p, "not allowed"))
                     ? mt_attach_refused(target, EPERM, err)
                     : mt_fail(err, MT_IO, MT_NO_OFFSET, "%s: %.200s", lldb ? "lldb" : "gdb",
                               code < 0 ? "it did not end in a minute" : last_line(&said));
    }
    mt_buf_release(&said);
    return status;
}

enum mt_status mt_attach_by_debugger(const struct mt_attach_target *target, const char *script,
                                     bool lldb, struct mt_error *err)
{
    char path[] = "/tmp/memtool-words.XXXXXX";
    struct mt_buf words = {0};
    (lldb ? lldb_script : gdb_script)(&words, target, script);
    int fd = words.failed ? -1 : mkstemp(path);
    if (fd < 0 || write(fd, words.p, words.n) != (ssize_t)words.n) {
        mt_buf_release(&words);
        return mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "cannot write %s: %s", path, strerror(errno));
    }
    close(fd);
    mt_buf_release(&words);
    enum mt_status status = run_debugger(target, path, lldb, err);
    unlink(path);
    return status;
}

/* ---- which ---- */

static enum mt_status no_symbols(const struct mt_attach_target *t, struct mt_error *err)
{
    mt_fail(err, MT_UNSUPPORTED, MT_NO_OFFSET,
            "process %ld (%.100s) shows no Python: neither it nor a libpython in it exports "
            "Py_AddPendingCall",
            (long)t->pid, t->exe);
    return mt_hint(err, "name the process that runs Python: ps -ef --forest; a program without "
                        "Python: memtool capture --mode record -- PROGRAM");
}

static enum mt_attach_way choose(const struct mt_attach_target *t, enum mt_attach_way way)
{
    if (way != MT_ATTACH_ANY) {
        return way;
    }
    if (t->python >= REMOTE_SINCE) {
        return MT_ATTACH_REMOTE;
    }
#if defined(__linux__) && defined(__x86_64__)
    return MT_ATTACH_PTRACE;
#else
    return MT_ATTACH_GDB;
#endif
}

static enum mt_status go(const struct mt_attach_target *t, const char *script,
                         enum mt_attach_way way, struct mt_error *err)
{
    if (way != MT_ATTACH_REMOTE && (!t->run || !t->call)) {
        return no_symbols(t, err);
    }
    switch (way) {
    case MT_ATTACH_REMOTE: return mt_attach_by_remote(t, script, err);
    case MT_ATTACH_GDB: return mt_attach_by_debugger(t, script, false, err);
    case MT_ATTACH_LLDB: return mt_attach_by_debugger(t, script, true, err);
    default: return mt_attach_by_ptrace(t, script, err);
    }
}

enum mt_status mt_attach_run(const struct mt_attach_target *target, const char *script,
                             enum mt_attach_way way, enum mt_attach_way *used, struct mt_error *err)
{
    *used = choose(target, way);
    enum mt_status status = go(target, script, *used, err);
    if (status != MT_OK && way == MT_ATTACH_ANY && *used == MT_ATTACH_REMOTE && target->call) {
        *used = MT_ATTACH_PTRACE; /* -X disable-remote-debug, say */
        status = go(target, script, *used, err);
    }
    if (status == MT_NOT_FOUND && way == MT_ATTACH_ANY && *used == MT_ATTACH_GDB) {
        struct mt_error second;
        if (go(target, script, MT_ATTACH_LLDB, &second) == MT_OK) {
            *used = MT_ATTACH_LLDB;
            return MT_OK;
        }
    }
    return status;
}
