/* SPDX-License-Identifier: MIT */
/* One thread: what support/mem.c asks of it. */
#ifndef MEMTOOL_WASM_COMPAT_PTHREAD_H
#define MEMTOOL_WASM_COMPAT_PTHREAD_H

typedef int pthread_t;

static inline pthread_t pthread_self(void)
{
    return 0;
}

static inline int pthread_equal(pthread_t a, pthread_t b)
{
    return a == b;
}

#endif
