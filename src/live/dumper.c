/* SPDX-License-Identifier: MIT */
/* Waiting on a semaphore, because posting one is among the few things that a handler may do. */
#include "dumper.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

/* Until woken or until the time is up; false when it was interrupted. */
static bool wait_for_work(struct mt_dumper *d)
{
    d->by_clock = false;
    if (d->every_s == 0) {
        return sem_wait(&d->wake) == 0;
    }
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)d->every_s;
    while (sem_timedwait(&d->wake, &until) != 0) {
        if (errno == ETIMEDOUT) {
            d->by_clock = true;
            return true;
        }
    }
    return true;
}

static void *work(void *ctx)
{
    struct mt_dumper *d = ctx;
    for (;;) {
        struct mt_error err;
        if (wait_for_work(d) && d->dump(d->ctx, &err) != MT_OK && d->on_failure) {
            d->on_failure(err.text);
        }
    }
    return NULL;
}

enum mt_status mt_dumper_start(struct mt_dumper *d, struct mt_error *err)
{
    pthread_t thread;
    sigset_t all, before;
    if (sem_init(&d->wake, 0, 0) != 0) {
        return mt_fail_nomem(err);
    }
    /* the program's signals go to the program's threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&thread, NULL, work, d);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        return mt_fail_nomem(err);
    }
    pthread_detach(thread);
    return MT_OK;
}

void mt_dumper_wake(struct mt_dumper *d)
{
    (void)sem_post(&d->wake);
}
