/* SPDX-License-Identifier: MIT */
/*
 * The lock that lets one snapshot at a time be written. A handler of the program's that ends it may
 * have interrupted the writing, so the thread that has the lock is refused it, and does not wait
 * for itself; and a thread that writes cannot be cancelled, which would leave the lock behind.
 */
#ifndef MEMTOOL_LIVE_DUMP_DUMP_LOCK_H
#define MEMTOOL_LIVE_DUMP_DUMP_LOCK_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "support/error.h"

/* Also in the child of a fork, by its only thread: the lock knows its owner by a number that this
 * thread no longer has. */
static inline void mt_dump_lock_init(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static inline enum mt_status mt_dump_lock_mine(struct mt_error *err)
{
    return mt_fail(err, MT_OUTPUT, MT_NO_OFFSET,
                   "no snapshot: the program ends while this thread writes one");
}

/* *cancel is for mt_dump_lock_give. Errors: MT_OUTPUT when this thread has it. */
static inline enum mt_status mt_dump_lock_take(pthread_mutex_t *lock, int *cancel,
                                               struct mt_error *err)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel);
    if (pthread_mutex_lock(lock) == 0) {
        return MT_OK;
    }
    pthread_setcancelstate(*cancel, NULL);
    return mt_dump_lock_mine(err);
}

/* Whether this thread has it; never waits. */
static inline bool mt_dump_lock_is_mine(pthread_mutex_t *lock)
{
    const struct timespec past = {0};
    int result = pthread_mutex_timedlock(lock, &past);
    if (result == 0) {
        pthread_mutex_unlock(lock);
    }
    return result == EDEADLK;
}

static inline void mt_dump_lock_give(pthread_mutex_t *lock, int cancel)
{
    pthread_mutex_unlock(lock);
    pthread_setcancelstate(cancel, NULL);
}

#endif
