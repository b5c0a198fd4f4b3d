/* SPDX-License-Identifier: MIT */
/*
 * The thread that writes all snapshots of a process but those by call. Who wants one asks and waits
 * for a limited time: whatever a snapshot waits for (the driver, a lock, the file system), only
 * this thread waits without end. Its stack is large, so the asking thread needs none, and it is
 * there before anything goes wrong, so a handler of a fault can ask it as well.
 */
#ifndef MEMTOOL_LIVE_DUMP_WRITER_H
#define MEMTOOL_LIVE_DUMP_WRITER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "live/core/record_settings.h"
#include "live/dump/snapshot_names.h"
#include "support/compiler.h"
#include "support/error.h"

/* A request in flight and some that are over, whose askers still read what came of them. */
enum { MT_WRITER_RESULTS = 4 };

struct mt_write_request {
    enum mt_snapshot_why why;
    bool careful;  /* the process is in no state to be relied on: neither malloc nor driver */
    void *context; /* of the driver, current in the asking thread; NULL: none, or not known */
    int device;    /* the context's */
};

struct mt_write_result {
    enum mt_status status;
    struct mt_error err;
    char path[MT_RECORD_PATH_MAX];
};

struct mt_writer {
    /* Set by the caller. `path`, MT_RECORD_PATH_MAX bytes, gets the name, where that is known. */
    enum mt_status (*write)(void *ctx, const struct mt_write_request *r, char *path,
                            struct mt_error *err);
    void *ctx;
    void (*on_failure)(const char *text); /* where nobody else can tell */
    pthread_mutex_t *dump_lock;           /* that `write` takes (dump_lock.h) */
    _Atomic uint32_t limit_s;
    const _Atomic int *ends_by; /* of the dumper: the signal that is about to end the program, 0:
                                   none; NULL: there is no dumper */
    _Atomic bool ended;         /* no snapshot of the process's end is wanted, or not any more */

    _Atomic int pid; /* of the process that the thread lives in; 0: none was started */
    _Atomic bool busy, stuck;
    _Atomic unsigned served;
    unsigned asked; /* while busy: the number of the request */
    struct mt_write_request request;
    struct mt_write_result results[MT_WRITER_RESULTS];
    sem_t wake;
    pthread_t thread;
};

/* Starts the thread, which runs to the end of the process; *w must live as long. Errors: MT_NOMEM;
 * requests are then served by the asking thread, without a limit. */
enum mt_status mt_writer_start(struct mt_writer *w, struct mt_error *err) MT_NODISCARD;

/* Asks for a snapshot and waits for it, limit_s at most. `path` as in `write`, or NULL. Also from a
 * signal handler; needs half a kilobyte of stack. Errors: those of `write`; MT_OUTPUT when the time
 * is up, when an earlier snapshot is still stuck, in a child, in the thread itself, and in one that
 * has the lock of dumps. */
enum mt_status mt_writer_ask(struct mt_writer *w, const struct mt_write_request *r, char *path,
                             struct mt_error *err) MT_NODISCARD;

/* Of a handler of faults: in this thread, at work on a careful request, the request has failed, and
 * this never returns. Else false. */
bool mt_writer_faulted(struct mt_writer *w);

/* Before any other end of the program: where a signal was there first, waits for it to end the
 * process once its snapshot is written, limit_s at most. Async-signal-safe. */
void mt_writer_yield(const struct mt_writer *w);

/* Whether this process has the thread. Async-signal-safe. */
bool mt_writer_lives(const struct mt_writer *w);

#endif
