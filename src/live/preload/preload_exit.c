/* SPDX-License-Identifier: MIT */
/*
 * _exit and _Exit, which run no exit functions; Python's os._exit is the same. What the C library
 * calls by itself, at the end of exit, does not come by here.
 */
#define _GNU_SOURCE 1 /* syscall */
#include <sys/syscall.h>
#include <unistd.h>

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

#endif
