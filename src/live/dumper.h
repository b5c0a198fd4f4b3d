/* SPDX-License-Identifier: MIT */
/*
 * A thread that writes snapshots when a signal asks for one, and every so many seconds. Waking it
 * is all that a signal handler does.
 */
#ifndef LIVE_DUMPER_H
#define LIVE_DUMPER_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include <memtool/compiler.h>
#include <memtool/error.h>

struct mt_dumper {
    sem_t wake;
    enum mt_status (*dump)(void *ctx, struct mt_error *err);
    void *ctx;        /* of dump */
    uint32_t every_s; /* 0: only when woken */
    bool by_clock;    /* for dump: it was not woken, the time had come */
    void (*on_failure)(const char *text);
};

/* Starts the thread, which runs to the end of the process; *d must live as long. The caller has set
 * dump, ctx, every_s, and on_failure, which may be NULL. Errors: MT_NOMEM. */
enum mt_status mt_dumper_start(struct mt_dumper *d, struct mt_error *err) MT_NODISCARD;

/* Asks for a snapshot. Async-signal-safe. */
void mt_dumper_wake(struct mt_dumper *d);

#endif
