/* SPDX-License-Identifier: MIT */
/* memtool's own threads in a program: none takes its signals, none keeps it from ending. */
#ifndef MEMTOOL_LIVE_CORE_OWN_THREAD_H
#define MEMTOOL_LIVE_CORE_OWN_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a detached thread, which tools show as "memtool-live". Signals go to the program's
 * threads; faults are the thread's own. False when there is no room for one. */
bool mt_own_thread_start(pthread_t *thread, void *(*work)(void *), void *ctx);

/* The calling thread ends. Where it is the first one, the process now ends with the last thread
 * that is not memtool's, as it would without any, by exit. */
void mt_own_thread_first_ends(void);

/* Of a thread of memtool's, every now and then: the first thread may have ended by the system call
 * exit, of which nobody is told; then the process ends likewise, with that code. */
void mt_own_thread_look(void);

#endif
