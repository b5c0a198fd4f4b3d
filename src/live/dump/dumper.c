/* SPDX-License-Identifier: MIT */
/* Waiting on a semaphore, because posting one is among the few things that a handler may do. */
#define _GNU_SOURCE 1 /* sem_clockwait */
#include "live/dump/dumper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "live/core/own_thread.h"

/* A system clock that is set must not put off what comes by the clock. */
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 30)
static const clockid_t steady = CLOCK_MONOTONIC;

static int wait_until(sem_t *s, const struct timespec *until)
{
    return sem_clockwait(s, steady, until);
}
#else
static const clockid_t steady = CLOCK_REALTIME;

static int wait_until(sem_t *s, const struct timespec *until)
{
    return sem_timedwait(s, until);
}
#endif

/* Until woken or until the time is up. */
static void wait_for_work(struct mt_dumper *d)
{
    struct timespec until;
    int result;
    clock_gettime(steady, &until);
    until.tv_sec += (time_t)d->every_s;
    do {
        result = d->every_s == 0 ? sem_wait(&d->wake) : wait_until(&d->wake, &until);
    } while (result != 0 && errno == EINTR);
    d->by_clock = result != 0;
    while (sem_trywait(&d->wake) == 0) { /* one snapshot answers all who asked by now */
    }
}

/* What reads standard error may be stuck as well: then nothing is told. */
static bool can_tell(const struct mt_dumper *d)
{
    struct pollfd err = {.fd = STDERR_FILENO, .events = POLLOUT};
    return atomic_load(&d->ends_by) == 0 || poll(&err, 1, 0) == 1;
}

static void tell(struct mt_dumper *d, const char *text)
{
    if (d->on_failure && strcmp(text, d->said) != 0 && can_tell(d)) {
        d->on_failure(text);
    }
    snprintf(d->said, sizeof d->said, "%s", text);
}

static void end_by(int number)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(number, &action, NULL);
    kill(getpid(), number);
}

/* What keeps a snapshot from being written does not keep a signal from ending the program. */
static void *work(void *ctx)
{
    struct mt_dumper *d = ctx;
    for (;;) {
        struct mt_error err;
        wait_for_work(d);
        if (d->dump(d->ctx, &err) != MT_OK) {
            tell(d, err.text);
        } else {
            d->said[0] = '\0';
        }
        int number = atomic_load(&d->ends_by);
        if (number != 0) {
            end_by(number);
        }
    }
    return NULL;
}

enum mt_status mt_dumper_start(struct mt_dumper *d, struct mt_error *err)
{
    pthread_t thread;
    if (sem_init(&d->wake, 0, 0) != 0) {
        return mt_fail_nomem(err);
    }
    atomic_store(&d->pid, (int)getpid());
    if (!mt_own_thread_start(&thread, work, d)) {
        return mt_fail_nomem(err);
    }
    return MT_OK;
}

/* Whether it is not the first one. */
static bool is_again(struct mt_dumper *d)
{
    struct timespec now;
    int64_t none = 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + 1;
    return !atomic_compare_exchange_strong(&d->asked_to_end_ms, &none, ms) &&
           ms - none > MT_DUMPER_SAME_MS;
}

/* A child has this handler too, but not the thread that it wakes; before it calls exec it may even
 * share the parent's memory. */
void mt_dumper_on_signal(struct mt_dumper *d, int number)
{
    int saved = errno;
    bool here = getpid() == atomic_load(&d->pid);
    bool end = number == SIGTERM || number == SIGINT || number == SIGQUIT;
    if (end && (!here || is_again(d))) {
        end_by(number);
    } else if (here) {
        if (end) {
            atomic_store(&d->ends_by, number);
        }
        (void)sem_post(&d->wake);
    }
    errno = saved;
}

bool mt_dumper_catch(int number, void (*handler)(int number))
{
    /* on a stack for signals where the thread has one: some runtimes insist on it (Go's) */
    struct sigaction before, action = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    return sigaction(number, NULL, &before) == 0 && !(before.sa_flags & SA_SIGINFO) &&
           before.sa_handler == SIG_DFL && sigaction(number, &action, NULL) == 0;
}
