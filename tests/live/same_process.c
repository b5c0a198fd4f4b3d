/* SPDX-License-Identifier: MIT */
/* Preloaded: every process has the number 1, and no file system knows files without a name. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define DOOR __attribute__((visibility("default")))

DOOR pid_t getpid(void);
DOOR int open(const char *path, int flags, ...);

pid_t getpid(void)
{
    return 1;
}

int open(const char *path, int flags, ...)
{
    int (*next)(const char *, int, ...);
    void *address = dlsym(RTLD_NEXT, "open");
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    if ((flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    memcpy(&next, &address, sizeof next);
    return next(path, flags, mode);
}
