/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into memtool: makes the nth allocation of the run fail (FAIL_AT=n, from 1), or that one
 * and all behind it (FAIL_FROM=n). At the end it writes to the file FAIL_REPORT how many
 * allocations there were and whether one failed: "COUNT FAILED".
 *
 * Counting begins when the program's own code has begun, so that the dynamic linker is spared. With
 * FAIL_OWN=1 only calls from the program itself count: fontconfig 2.14, behind cairo, dies of its
 * own failed allocations.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);

static unsigned long calls, fail_at, fail_from;
static bool armed, failed, own_only;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FAIL_AT");
    const char *from = getenv("FAIL_FROM");
    fail_at = at ? strtoul(at, NULL, 10) : 0;
    fail_from = from ? strtoul(from, NULL, 10) : 0;
    own_only = getenv("FAIL_OWN") != NULL;
    armed = true;
}

/* Whether the code at `caller` is the program's: libraries have ".so" in their names. */
static bool is_own(void *caller)
{
    Dl_info where;
    return dladdr(caller, &where) == 0 || !where.dli_fname || !strstr(where.dli_fname, ".so");
}

/* Whether this allocation is to fail. */
static bool fails(void *caller)
{
    if (!armed || (own_only && !is_own(caller))) {
        return false;
    }
    calls++;
    if (calls == fail_at || (fail_from && calls >= fail_from)) {
        failed = true;
        errno = ENOMEM;
        return true;
    }
    return false;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, size);
}

static void report(void)
{
    char text[64];
    const char *path = getenv("FAIL_REPORT");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
    if (fd >= 0) {
        int n = snprintf(text, sizeof text, "%lu %d\n", calls, failed);
        ssize_t ignored = write(fd, text, (size_t)n);
        (void)ignored;
        close(fd);
    }
}

__attribute__((destructor)) static void end(void)
{
    armed = false;
    report();
}

/* memtool leaves in a hurry when it is out of memory: the report is written all the same. */
void _exit(int code)
{
    armed = false;
    report();
    _Exit(code);
}
