/* SPDX-License-Identifier: MIT */
/*
 * A lock for sections of some tens of nanoseconds. Giving it back is a plain store, where a pthread
 * mutex needs a second locked instruction and two calls: of an allocate and free pair served from
 * the cache, that is a fifth. Who finds it taken spins, then yields, then sleeps (quick_lock.c),
 * for now and then its holder waits for the driver. Not fair, not recursive; zeroed memory is free.
 */
#ifndef MEMTOOL_LIVE_CORE_QUICK_LOCK_H
#define MEMTOOL_LIVE_CORE_QUICK_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "support/compiler.h"

struct mt_quick_lock {
    _Atomic bool taken;
};

void mt_quick_lock_wait(struct mt_quick_lock *l);

static inline bool mt_quick_lock_try(struct mt_quick_lock *l)
{
    return !atomic_exchange_explicit(&l->taken, true, memory_order_acquire);
}

static inline void mt_quick_lock_take(struct mt_quick_lock *l)
{
    if (MT_UNLIKELY(!mt_quick_lock_try(l))) {
        mt_quick_lock_wait(l);
    }
}

/* Whether it is free for a moment within `seconds`: its holder may wait for the driver, and that
 * for ever. */
bool mt_quick_lock_comes_free(struct mt_quick_lock *l, int seconds) MT_NODISCARD;

/* Only by the thread that took it, or in the only thread of a child, after a fork by that one. */
static inline void mt_quick_lock_give(struct mt_quick_lock *l)
{
    atomic_store_explicit(&l->taken, false, memory_order_release);
}

#endif
