/* SPDX-License-Identifier: MIT */
/*
 * One request at a time, taken by whoever sets `busy` and given back by the thread. The asker looks
 * every now and then whether it is served: no primitive that may be waited on with a limit is safe
 * in a signal handler. A request whose asker has given up is finished all the same, if it can be.
 */
#include "live/dump/writer.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "support/mem.h"

#include "live/core/own_thread.h"
#include "live/dump/dump_lock.h"

enum { NAP_NS = 50000, LONGEST_NAP_NS = 2000000 };

bool mt_writer_lives(const struct mt_writer *w)
{
    return atomic_load(&w->pid) == (int)getpid();
}

static bool is_here(const struct mt_writer *w)
{
    return pthread_equal(pthread_self(), w->thread) != 0;
}

static void serve(struct mt_writer *w)
{
    unsigned number = w->asked;
    struct mt_write_result *r = &w->results[number % MT_WRITER_RESULTS];
    r->path[0] = '\0';
    mt_mem_careful(w->request.careful);
    r->status = w->write(w->ctx, &w->request, r->path, &r->err);
    mt_mem_careful(false);
    atomic_store(&w->served, number);
    atomic_store(&w->stuck, false);
    atomic_store(&w->busy, false);
}

static void *work(void *ctx)
{
    enum { LOOK_S = 1 };
    struct mt_writer *w = ctx;
    for (;;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += LOOK_S;
        if (sem_timedwait(&w->wake, &until) == 0) {
            serve(w);
        } else if (errno == ETIMEDOUT) {
            mt_own_thread_look();
        }
    }
    return NULL;
}

enum mt_status mt_writer_start(struct mt_writer *w, struct mt_error *err)
{
    if (sem_init(&w->wake, 0, 0) != 0 || !mt_own_thread_start(&w->thread, work, w)) {
        return mt_fail_nomem(err);
    }
    atomic_store(&w->pid, (int)getpid());
    return MT_OK;
}

/* ---- asking ---- */

struct patience {
    struct timespec until;
    long nap_ns;
};

static struct patience begin_to_wait(uint32_t seconds)
{
    struct patience p = {.nap_ns = NAP_NS};
    clock_gettime(CLOCK_MONOTONIC, &p.until);
    p.until.tv_sec += (time_t)seconds;
    return p;
}

/* False when the time is up. */
static bool nap(struct patience *p)
{
    struct timespec now;
    nanosleep(&(struct timespec){.tv_nsec = p->nap_ns}, NULL);
    p->nap_ns = p->nap_ns < LONGEST_NAP_NS ? 2 * p->nap_ns : p->nap_ns;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec < p->until.tv_sec ||
           (now.tv_sec == p->until.tv_sec && now.tv_nsec < p->until.tv_nsec);
}

static enum mt_status time_is_up(struct mt_writer *w, struct mt_error *err)
{
    atomic_store(&w->stuck, true);
    return mt_fail(err, MT_OUTPUT, MT_NO_OFFSET,
                   "no snapshot within %u seconds: the driver, a lock or the file system does not "
                   "answer",
                   (unsigned)atomic_load(&w->limit_s));
}

static enum mt_status wait_for(struct mt_writer *w, const struct mt_write_request *request,
                               char *path, struct mt_error *err)
{
    struct patience p = begin_to_wait(atomic_load(&w->limit_s));
    bool none = false;
    while (!atomic_compare_exchange_strong(&w->busy, &none, true)) {
        none = false;
        if (atomic_load(&w->stuck)) {
            return mt_fail(err, MT_OUTPUT, MT_NO_OFFSET,
                           "no snapshot: an earlier one still waits for the driver, a lock or the "
                           "file system");
        }
        if (!nap(&p)) {
            return time_is_up(w, err);
        }
    }
    unsigned number = ++w->asked;
    w->request = *request;
    (void)sem_post(&w->wake);
    while ((int)(atomic_load(&w->served) - number) < 0) {
        if (!nap(&p)) {
            return time_is_up(w, err);
        }
    }
    const struct mt_write_result *r = &w->results[number % MT_WRITER_RESULTS];
    for (size_t i = 0; path && (i == 0 || path[i - 1]); i++) {
        path[i] = r->path[i];
    }
    if (r->status != MT_OK) {
        *err = r->err;
    }
    return r->status;
}

/* Apart, for the room that it takes. */
__attribute__((noinline)) static enum mt_status
write_here(struct mt_writer *w, const struct mt_write_request *r, char *path, struct mt_error *err)
{
    char unwanted[MT_RECORD_PATH_MAX];
    return w->write(w->ctx, r, path ? path : unwanted, err);
}

enum mt_status mt_writer_ask(struct mt_writer *w, const struct mt_write_request *r, char *path,
                             struct mt_error *err)
{
    int cancel;
    if (atomic_load(&w->pid) == 0) {
        return write_here(w, r, path, err);
    }
    if (!mt_writer_lives(w) || is_here(w)) {
        return mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "no snapshot: there is nobody to write it");
    }
    if (mt_dump_lock_is_mine(w->dump_lock)) {
        return mt_dump_lock_mine(err); /* a handler that ends the program has interrupted it */
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    enum mt_status status = wait_for(w, r, path, err);
    pthread_setcancelstate(cancel, NULL);
    return status;
}

void mt_writer_yield(const struct mt_writer *w)
{
    struct patience p = begin_to_wait(atomic_load(&w->limit_s));
    while (w->ends_by && atomic_load(w->ends_by) != 0 && mt_writer_lives(w) && !is_here(w) &&
           nap(&p)) {
    }
}

bool mt_writer_faulted(struct mt_writer *w)
{
    if (!mt_writer_lives(w) || !is_here(w) || !w->request.careful) {
        return false;
    }
    struct mt_write_result *r = &w->results[w->asked % MT_WRITER_RESULTS];
    r->status = mt_fail(&r->err, MT_OUTPUT, MT_NO_OFFSET,
                        "no snapshot: what was recorded is damaged, reading it was a fault");
    atomic_store(&w->stuck, true); /* and `busy` for ever */
    atomic_store(&w->served, w->asked);
    for (;;) {
        pause();
    }
}
