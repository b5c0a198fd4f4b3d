/* SPDX-License-Identifier: MIT */
/*
 * Many what-ifs of one program, side by side where that is worth threads. A what-if changes nothing
 * of a sim but what is counted down, so each has a copy of its own, and comes out as it would
 * alone.
 */
#include <pthread.h>
#include <unistd.h>

#include "verbs/simulate/sim.h"

enum { MOST_THREADS = 4 };    /* each has an allocator and its blocks */
#define WORTH_THREADS 1000000 /* steps of all what-ifs together: about 50 milliseconds */

struct crowd {
    struct mt_sim *sim;
    struct mt_sim_try *tries;
    size_t n;
    pthread_mutex_t lock; /* of `next` and `walked` */
    size_t next;          /* that nobody has begun */
    uint64_t walked;
};

static void try_one(struct crowd *c, size_t i)
{
    struct mt_sim_try *t = &c->tries[i];
    struct mt_sim own = *c->sim;
    own.order = t->order;
    own.sizes = t->sizes ? t->sizes : own.sizes;
    t->status = mt_sim_what_if(&own, t->settings, t->conf, &t->run, NULL, &t->err);
    pthread_mutex_lock(&c->lock);
    c->walked += c->sim->walks - own.walks;
    pthread_mutex_unlock(&c->lock);
}

static void *try_some(void *arg)
{
    struct crowd *c = arg;
    for (;;) {
        pthread_mutex_lock(&c->lock);
        size_t i = c->next++;
        pthread_mutex_unlock(&c->lock);
        if (i >= c->n) {
            return NULL;
        }
        try_one(c, i);
    }
}

static size_t threads_for(const struct crowd *c)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = cores > MOST_THREADS ? MOST_THREADS : cores > 0 ? (size_t)cores : 1;
    n = n > c->n ? c->n : n;
    return c->sim->ops.n < WORTH_THREADS / (c->n + 1) ? 1 : n;
}

enum mt_status mt_sim_try_all(struct mt_sim *sim, struct mt_sim_try *tries, size_t n,
                              struct mt_error *err)
{
    struct crowd c = {.sim = sim, .tries = tries, .n = n, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[MOST_THREADS];
    size_t most = threads_for(&c), begun = 0;
    while (begun + 1 < most && pthread_create(&threads[begun], NULL, try_some, &c) == 0) {
        begun++;
    }
    (void)try_some(&c);
    for (size_t i = 0; i < begun; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_mutex_destroy(&c.lock);
    sim->walks -= c.walked < sim->walks ? c.walked : sim->walks;
    for (size_t i = 0; i < n; i++) {
        if (tries[i].status != MT_OK) {
            *err = tries[i].err;
            return tries[i].status;
        }
    }
    return MT_OK;
}
