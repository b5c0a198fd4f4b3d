/* SPDX-License-Identifier: MIT */
/*
 * The program under capture: started with fork and exec in the same process group, so that the
 * terminal is its own as much as memtool's. Signals from the terminal reach it directly; those that
 * are sent to memtool alone are passed on. A pipe that closes at exec tells whether exec worked.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "verbs/capture/capture.h"

/* Passed on to the child, except for those that the terminal sends to both. */
static const int SIGNALS[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGINT, SIGQUIT};
enum { N_SIGNALS = sizeof SIGNALS / sizeof SIGNALS[0] };

/* As memtool was started; the program gets it so. */
struct inherited {
    sigset_t mask;
    struct sigaction on_child;
};

/* An ignored SIGCHLD, which exec passes on, would have the kernel forget how the child ended. */
static void take_signals(sigset_t *watched, struct inherited *before)
{
    struct sigaction dfl = {.sa_handler = SIG_DFL};
    sigemptyset(&dfl.sa_mask);
    sigemptyset(watched);
    sigaddset(watched, SIGCHLD);
    for (size_t i = 0; i < N_SIGNALS; i++) {
        sigaddset(watched, SIGNALS[i]);
    }
    sigprocmask(SIG_BLOCK, watched, &before->mask);
    sigaction(SIGCHLD, &dfl, &before->on_child);
}

/* What came too late to be passed on is dropped, and what a user sends for a snapshot ends nobody:
 * the end is the program's. */
static void drop_late_signals(const sigset_t *watched)
{
    const struct timespec now = {0};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGUSR1, &ignore, NULL);
    sigaction(SIGUSR2, &ignore, NULL);
    while (sigtimedwait(watched, NULL, &now) > 0) {
    }
}

static void give_signals_back(const struct inherited *before)
{
    sigaction(SIGCHLD, &before->on_child, NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* In the child: never returns. */
static void exec_child(char **argv, const struct inherited *before, int report)
{
    give_signals_back(before);
    signal(SIGXFSZ, SIG_DFL); /* memtool ignores it */
    execvp(argv[0], argv);
    int error = errno;
    ssize_t wrote = write(report, &error, sizeof error);
    _exit(wrote == (ssize_t)sizeof error ? 127 : 126);
}

static enum mt_status start(char **argv, const struct inherited *before, pid_t *child,
                            struct mt_error *err)
{
    int report[2];
    if (pipe(report) != 0) {
        return mt_fail(err, MT_IO, MT_NO_OFFSET, "cannot start: %s", strerror(errno));
    }
    *child = fork();
    if (*child == 0) {
        close(report[0]);
        if (fcntl(report[1], F_SETFD, FD_CLOEXEC) == 0) {
            exec_child(argv, before, report[1]);
        }
        _exit(126);
    }
    close(report[1]);
    int failure = 0;
    ssize_t got = *child < 0 ? -1 : read(report[0], &failure, sizeof failure);
    close(report[0]);
    if (*child < 0) {
        return mt_fail(err, MT_IO, MT_NO_OFFSET, "cannot start: %s", strerror(errno));
    }
    if (got == (ssize_t)sizeof failure) {
        waitpid(*child, NULL, 0);
        return mt_fail(err, failure == ENOENT ? MT_NOT_FOUND : MT_IO, MT_NO_OFFSET,
                       "cannot run: %s", strerror(failure));
    }
    return MT_OK;
}

/* Who sent it: what comes from the terminal (the kernel) has reached the child as well. */
static void pass_on(pid_t child, const siginfo_t *info)
{
    if (info->si_code <= 0 || info->si_signo == SIGHUP) {
        kill(child, info->si_signo);
    }
}

static enum mt_status wait_for(pid_t child, const sigset_t *watched, struct mt_capture_end *end,
                               struct mt_error *err)
{
    int status = 0;
    for (;;) {
        siginfo_t info;
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child) {
            break;
        }
        if (ended < 0 && errno != EINTR) {
            return mt_fail(err, MT_IO, MT_NO_OFFSET, "cannot wait for it: %s", strerror(errno));
        }
        if (sigwaitinfo(watched, &info) > 0 && info.si_signo != SIGCHLD) {
            pass_on(child, &info);
        }
    }
    *end = (struct mt_capture_end){.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                                   .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    return MT_OK;
}

enum mt_status mt_capture_run(char **argv, struct mt_capture_end *end, struct mt_error *err)
{
    sigset_t watched;
    struct inherited before;
    pid_t child = -1;
    take_signals(&watched, &before);
    enum mt_status status = start(argv, &before, &child, err);
    if (status == MT_OK) {
        status = wait_for(child, &watched, end, err);
        drop_late_signals(&watched);
    }
    give_signals_back(&before);
    return status;
}
