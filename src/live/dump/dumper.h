/* SPDX-License-Identifier: MIT */
/*
 * A thread that writes snapshots when a signal asks for one, and every so many seconds. Waking it
 * is all that a signal handler does. However many signals came while a snapshot was written, one
 * more follows; and a failure that repeats is told once, or a full disk would fill the log as well.
 * It never waits without end itself: `dump` leaves that to another thread (writer.h).
 */
#ifndef MEMTOOL_LIVE_DUMP_DUMPER_H
#define MEMTOOL_LIVE_DUMP_DUMPER_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/compiler.h"
#include "support/error.h"

struct mt_dumper {
    sem_t wake;
    enum mt_status (*dump)(void *ctx, struct mt_error *err);
    void *ctx;        /* of dump */
    uint32_t every_s; /* 0: only when woken */
    bool by_clock;    /* for dump: it was not woken, the time had come */
    void (*on_failure)(const char *text);
    _Atomic int pid;     /* of the process that the thread lives in */
    _Atomic int ends_by; /* for dump: the signal that ends the program after it; 0: none */
    _Atomic int64_t asked_to_end_ms; /* when the first of them came, of the steady clock */
    char said[sizeof((struct mt_error *)0)->text];
};

/* Starts the thread, which runs to the end of the process; *d must live as long. The caller has set
 * dump, ctx, every_s, and on_failure, which may be NULL. Errors: MT_NOMEM. */
enum mt_status mt_dumper_start(struct mt_dumper *d, struct mt_error *err) MT_NODISCARD;

/* What a signal handler does: asks for a snapshot. SIGTERM, SIGINT and SIGQUIT end the program when
 * it is written, as they would have; in a forked child, which has no such thread, and for the
 * second time, at once. What comes within MT_DUMPER_SAME_MS is the first one once more: one for the
 * whole process group, and one that a parent passes on. Async-signal-safe. */
enum { MT_DUMPER_SAME_MS = 500 };
void mt_dumper_on_signal(struct mt_dumper *d, int number);

/* Gives a signal a handler, unless it has one of the program's own or is ignored: then false. */
bool mt_dumper_catch(int number, void (*handler)(int number)) MT_NODISCARD;

#endif
