/* SPDX-License-Identifier: MIT */
/* Both signals come to the thread that writes, so that it can take them back. */
#include "live/core/quiet_write.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "support/compiler.h"

static const int numbers[] = {SIGXFSZ, SIGPIPE};

void mt_quiet_begin(struct mt_quiet *q)
{
    sigset_t both;
    sigemptyset(&both);
    for (size_t i = 0; i < MT_COUNT(numbers); i++) {
        sigaddset(&both, numbers[i]);
    }
    sigemptyset(&q->pending);
    sigpending(&q->pending);
    pthread_sigmask(SIG_BLOCK, &both, &q->before);
}

void mt_quiet_end(const struct mt_quiet *q)
{
    const struct timespec no_time = {0};
    for (size_t i = 0; i < MT_COUNT(numbers); i++) {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, numbers[i]);
        if (!sigismember(&q->pending, numbers[i])) {
            (void)sigtimedwait(&one, NULL, &no_time);
        }
    }
    pthread_sigmask(SIG_SETMASK, &q->before, NULL);
}

void mt_quiet_write(int fd, const struct iovec *parts, int n)
{
    struct mt_quiet quiet;
    int saved = errno;
    mt_quiet_begin(&quiet);
    ssize_t written = writev(fd, parts, n);
    (void)written;
    mt_quiet_end(&quiet);
    errno = saved;
}
