/* SPDX-License-Identifier: MIT */
/* One thread: there are no others, and nothing to wait for. */
#ifndef MEMTOOL_WASM_COMPAT_PTHREAD_H
#define MEMTOOL_WASM_COMPAT_PTHREAD_H

#include <errno.h>

typedef int pthread_t, pthread_mutex_t, pthread_cond_t;

#define PTHREAD_MUTEX_INITIALIZER 0
#define PTHREAD_COND_INITIALIZER 0

#define pthread_self() 0
#define pthread_equal(a, b) ((a) == (b))
#define pthread_create(thread, attributes, run, argument) ((void)(run), EAGAIN)
#define pthread_join(thread, result) ((void)(thread), 0)
#define pthread_mutex_lock(mutex) ((void)(mutex), 0)
#define pthread_mutex_unlock(mutex) ((void)(mutex), 0)
#define pthread_mutex_destroy(mutex) ((void)(mutex), 0)
#define pthread_cond_wait(condition, mutex) ((void)(condition), (void)(mutex), 0)
#define pthread_cond_broadcast(condition) ((void)(condition), 0)
#define pthread_cond_destroy(condition) ((void)(condition), 0)

#endif
