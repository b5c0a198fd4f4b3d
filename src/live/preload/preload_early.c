/* SPDX-License-Identifier: MIT */
/*
 * A name of a range starts nothing: a process that has opened the driver leaves its forked children
 * without CUDA, and one that records already has nobody record them. So what is named before the
 * first CUDA call is kept for the recorder to come, this process's or a child's.
 */
#include "live/preload/preload_early.h"

#include <pthread.h>
#include <string.h>

#include "live/core/event_clock.h"
#include "live/core/range_name.h"

struct named {
    int64_t time_us;
    bool end;
    struct mt_range_name name;
};

static struct {
    pthread_mutex_t lock;
    bool over;
    unsigned n, open; /* kept; beginnings whose end is to come */
    struct mt_event_clock clock;
    struct named marks[MT_EARLY_MAX];
} early = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock(void)
{
    pthread_mutex_lock(&early.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&early.lock);
}

static void survive_forks(void)
{
    pthread_atfork(lock, unlock, unlock);
}

static bool keep(const char *name, bool end)
{
    if (end ? early.open == 0 : early.n + early.open + 2 > MT_EARLY_MAX) {
        return false;
    }
    early.open += end ? -1u : 1u;
    early.marks[early.n++] =
        (struct named){mt_event_clock_now(&early.clock), end, mt_range_name_bytes(name)};
    return true;
}

bool mt_preload_early(const char *name, bool end, bool *kept)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, survive_forks);
    lock();
    bool is_early = !early.over;
    *kept = is_early && keep(name, end);
    unlock();
    return is_early;
}

void mt_preload_early_over(struct mt_recorder *r)
{
    lock();
    int64_t now_us = r ? r->clock.now_us : 0;
    for (unsigned i = 0; r && i < early.n; i++) {
        const struct named *m = &early.marks[i];
        r->clock.now_us = m->time_us;
        mt_recorder_mark(r, 0, m->name.text, m->end);
    }
    if (r) {
        r->clock.now_us = now_us;
    }
    early.over = true;
    unlock();
}
