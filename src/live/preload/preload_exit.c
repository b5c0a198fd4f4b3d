/* SPDX-License-Identifier: MIT */
/*
 * _exit and _Exit, which run no exit functions; Python's os._exit is the same. What the C library
 * calls by itself, at the end of exit, does not come by here. pthread_exit, by which the first
 * thread leaves the end of the process to the others.
 */
#define _GNU_SOURCE 1 /* syscall, RTLD_NEXT */
#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "live/core/own_thread.h"
#include "live/dump/crash.h"

#define DOOR __attribute__((visibility("default"), noreturn))

/* A sanitizer has doors of its own under these names. */
#ifndef MT_PRELOAD_NO_DLSYM

/* What the C library does; looking its function up would not be async-signal-safe. */
__attribute__((noreturn)) static void end(int status)
{
    mt_crash_quick_end();
    for (;;) {
        syscall(SYS_exit_group, status);
    }
}

DOOR void _exit(int status)
{
    end(status);
}

DOOR void _Exit(int status);
DOOR void _Exit(int status)
{
    end(status);
}

DOOR void pthread_exit(void *value)
{
    void (*real)(void *) = NULL;
    void *found = dlsym(RTLD_NEXT, "pthread_exit");
    memcpy(&real, &found, sizeof real);
    mt_own_thread_first_ends();
    if (real) {
        real(value);
    }
    for (;;) { /* no C library is without it */
        pause();
    }
}

#endif
