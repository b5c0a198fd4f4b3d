/* SPDX-License-Identifier: MIT */
/*
 * Snapshots of ends that run no exit functions: signals of faults, and _exit with its kin. Where
 * the program has a handler of its own, nothing is done: it may live on, as a Java machine does.
 */
#ifndef MEMTOOL_LIVE_DUMP_CRASH_H
#define MEMTOOL_LIVE_DUMP_CRASH_H

#include "live/dump/writer.h"

/* From now on asks this writer, which must live to the end of the process, for a snapshot when
 * SIGSEGV, SIGABRT, SIGBUS, SIGFPE or SIGILL ends the process. The calling thread gets a stack for
 * handlers where it has none: only of its own stack can an overflow be told. A second time for
 * another writer; not at the same time. */
void mt_crash_watch(struct mt_writer *w);

/* Where a signal that ends the process has come and its snapshot is being written: waits for that
 * end, for a limited time. Async-signal-safe. */
void mt_crash_yield(void);

/* Before an end without exit functions: the snapshot of the end, unless one was asked for.
 * Async-signal-safe. */
void mt_crash_quick_end(void);

#endif
