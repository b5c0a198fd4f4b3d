/* SPDX-License-Identifier: MIT */
/* Waiting for a lock: spinning covers a request served from the cache, yielding a holder that was
 * put off its core, sleeping the driver, which takes up to milliseconds. */
#include "live/core/quick_lock.h"

#include <sched.h>
#include <time.h>

enum { SPINS = 200, YIELDS = 20, SLEEP_NS = 20000, LONGEST_SLEEP_NS = 160000 };

static bool spin(struct mt_quick_lock *l)
{
    for (int i = 0; i < SPINS; i++) {
        if (!atomic_load_explicit(&l->taken, memory_order_relaxed) && mt_quick_lock_try(l)) {
            return true;
        }
    }
    return false;
}

void mt_quick_lock_wait(struct mt_quick_lock *l)
{
    for (int i = 0; i < YIELDS; i++) {
        if (spin(l)) {
            return;
        }
        sched_yield();
    }
    for (long ns = SLEEP_NS; !spin(l); ns = ns < LONGEST_SLEEP_NS ? 2 * ns : ns) {
        nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
    }
}

bool mt_quick_lock_comes_free(struct mt_quick_lock *l, int seconds)
{
    enum { A_SECOND = 100 };
    const struct timespec moment = {.tv_nsec = 1000000000 / A_SECOND};
    for (int i = 0; i < seconds * A_SECOND; i++) {
        if (mt_quick_lock_try(l)) {
            mt_quick_lock_give(l);
            return true;
        }
        nanosleep(&moment, NULL);
    }
    return false;
}
