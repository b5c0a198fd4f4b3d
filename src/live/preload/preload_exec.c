/* SPDX-License-Identifier: MIT */
/*
 * The ways into another program in this process. A SIGTERM that has come, and waits for its
 * snapshot, would be lost with memtool's threads: the exec waits for it instead. Nothing here is
 * looked up at the call, which may come between fork and exec.
 */
#define _GNU_SOURCE 1 /* RTLD_NEXT, execvpe, execveat */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "live/dump/crash.h"

#define DOOR __attribute__((visibility("default")))

/* A sanitizer has doors of its own under these names. */
#ifndef MT_PRELOAD_NO_DLSYM

typedef int exec_function(const char *file, char *const *argv, char *const *env);

static struct {
    exec_function *execve, *execvpe;
    int (*fexecve)(int fd, char *const *argv, char *const *env);
} real;

__attribute__((constructor)) static void find(void)
{
    void *found = dlsym(RTLD_NEXT, "execve");
    memcpy(&real.execve, &found, sizeof found);
    found = dlsym(RTLD_NEXT, "execvpe");
    memcpy(&real.execvpe, &found, sizeof found);
    found = dlsym(RTLD_NEXT, "fexecve");
    memcpy(&real.fexecve, &found, sizeof found);
}

static int leave(exec_function *by, const char *file, char *const *argv, char *const *env)
{
    if (!by) { /* another library's constructor calls, before ours */
        find();
        by = real.execve;
    }
    mt_crash_yield();
    if (!by) {
        errno = ENOSYS;
        return -1;
    }
    return by(file, argv, env);
}

DOOR int execve(const char *path, char *const *argv, char *const *env)
{
    return leave(real.execve, path, argv, env);
}

DOOR int execv(const char *path, char *const *argv)
{
    return leave(real.execve, path, argv, environ);
}

DOOR int execvpe(const char *file, char *const *argv, char *const *env)
{
    return leave(real.execvpe, file, argv, env);
}

DOOR int execvp(const char *file, char *const *argv)
{
    return leave(real.execvpe, file, argv, environ);
}

DOOR int fexecve(int fd, char *const *argv, char *const *env)
{
    mt_crash_yield();
    if (!real.fexecve) {
        errno = ENOSYS;
        return -1;
    }
    return real.fexecve(fd, argv, env);
}

/* The arguments up to NULL, and with `env` what stands behind it. */
static int leave_with_list(exec_function *by, const char *file, const char *first, va_list rest,
                           int has_env)
{
    size_t n = 1;
    va_list counted;
    va_copy(counted, rest);
    for (const char *a = first; a; a = va_arg(counted, const char *)) {
        n++;
    }
    va_end(counted);
    /* exec may come where there is no malloc; the C library does so too */
    char **argv = __builtin_alloca(n * sizeof *argv);
    size_t i = 0;
    for (const char *a = first; a; a = va_arg(rest, const char *)) {
        argv[i++] = (char *)(uintptr_t)a;
    }
    argv[i] = NULL;
    char *const *env = has_env ? va_arg(rest, char *const *) : environ;
    return leave(by, file, argv, env);
}

#define LIST_DOOR(name, by, has_env)                                                               \
    DOOR int name(const char *file, const char *first, ...)                                        \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, first);                                                                     \
        int result = leave_with_list(by, file, first, rest, has_env);                              \
        va_end(rest);                                                                              \
        return result;                                                                             \
    }
LIST_DOOR(execl, real.execve, 0)
LIST_DOOR(execle, real.execve, 1)
LIST_DOOR(execlp, real.execvpe, 0)

#endif
