/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into memtool: reading, writing and naming of files go wrong as the environment says.
 *
 *   IO_READ_FAIL=n    the nth read(2) fails with EIO
 *   IO_STREAM_FAIL=n  each stream that is read fails with EIO behind its nth byte
 *   IO_READ_SHORT=n   reads give n bytes at most, and every other one fails with EINTR first
 *   IO_FILE_MAX=n     no file grows beyond n bytes (RLIMIT_FSIZE): a disk that is full at any byte
 *   IO_FAIL=what      what is close, name (link, linkat, rename), link (link and linkat, as on file
 *                     systems without hard links), tmpfile (O_TMPFILE, as on NFS)
 *   IO_REPORT=file    is made when something failed
 *
 * libc's streams call their own read and write, which nothing can come between; so what is opened
 * here is a stream of the test's own (fopencookie).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static long number_of(const char *variable)
{
    const char *text = getenv(variable);
    return text ? strtol(text, NULL, 10) : -1;
}

static bool is_to_fail(const char *what)
{
    const char *text = getenv("IO_FAIL");
    return text && strstr(text, what) != NULL;
}

static int fail_with(int error)
{
    const char *path = getenv("IO_REPORT");
    int fd = path ? open(path, O_WRONLY | O_CREAT, 0644) : -1;
    if (fd >= 0) {
        close(fd);
    }
    errno = error;
    return -1;
}

__attribute__((constructor)) static void begin(void)
{
    long most = number_of("IO_FILE_MAX");
    if (most >= 0) {
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){(rlim_t)most, (rlim_t)most});
    }
}

/* ---- reading ---- */

/* Files in which the kernel tells of the machine: no input, and memtool does without. */
static bool is_of_kernel(int fd)
{
    char link[40], path[5];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return readlink(link, path, sizeof path) == (ssize_t)sizeof path &&
           memcmp(path, "/sys/", sizeof path) == 0;
}

static ssize_t read_badly(int fd, void *p, size_t n)
{
    static long calls;
    static bool interrupted;
    bool counts = !is_of_kernel(fd);
    long most = counts ? number_of("IO_READ_SHORT") : 0;
    calls += counts;
    if (counts && calls == number_of("IO_READ_FAIL")) {
        return fail_with(EIO);
    }
    if (most > 0) {
        interrupted = !interrupted;
        n = n < (size_t)most ? n : (size_t)most;
    }
    if (most > 0 && interrupted) {
        return fail_with(EINTR);
    }
    ssize_t (*next)(int, void *, size_t);
    *(void **)&next = dlsym(RTLD_NEXT, "read");
    return next(fd, p, n);
}

ssize_t read(int fd, void *p, size_t n)
{
    return read_badly(fd, p, n);
}

ssize_t __read_chk(int fd, void *p, size_t n, size_t room)
{
    (void)room;
    return read_badly(fd, p, n);
}

/* ---- streams ---- */

struct cookie {
    int fd;
    long left; /* bytes until EIO, -1: no limit */
};

static ssize_t cookie_read(void *self, char *p, size_t n)
{
    struct cookie *c = self;
    long most = number_of("IO_READ_SHORT");
    if (c->left == 0) {
        return fail_with(EIO);
    }
    n = c->left > 0 && (size_t)c->left < n ? (size_t)c->left : n;
    n = most > 0 && (size_t)most < n ? (size_t)most : n;
    ssize_t (*next)(int, void *, size_t);
    *(void **)&next = dlsym(RTLD_NEXT, "read");
    ssize_t got = next(c->fd, p, n);
    c->left -= c->left > 0 && got > 0 ? got : 0;
    return got;
}

static ssize_t cookie_write(void *self, const char *p, size_t n)
{
    ssize_t wrote = write(((struct cookie *)self)->fd, p, n);
    return wrote < 0 ? 0 : wrote;
}

static int cookie_close(void *self)
{
    struct cookie *c = self;
    int code = close(c->fd);
    free(c);
    return is_to_fail("close") ? fail_with(EIO) : code;
}

static FILE *stream_of(int fd, const char *mode)
{
    struct cookie *c = malloc(sizeof *c);
    if (!c) {
        return NULL;
    }
    *c = (struct cookie){fd, number_of("IO_STREAM_FAIL")};
    return fopencookie(c, mode,
                       (cookie_io_functions_t){cookie_read, cookie_write, NULL, cookie_close});
}

FILE *fopen(const char *path, const char *mode)
{
    bool reads = mode[0] == 'r';
    int fd = reads ? open(path, O_RDONLY) : open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    return fd < 0 ? NULL : stream_of(fd, mode);
}

FILE *fdopen(int fd, const char *mode)
{
    return stream_of(fd, mode);
}

/* ---- names ---- */

static int open_badly(const char *path, int flags, mode_t mode)
{
    if ((flags & O_TMPFILE) == O_TMPFILE && is_to_fail("tmpfile")) {
        errno = EOPNOTSUPP;
        return -1;
    }
    int (*next)(const char *, int, ...);
    *(void **)&next = dlsym(RTLD_NEXT, "open");
    return next(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list args;
        va_start(args, flags);
        mode = (mode_t)va_arg(args, int);
        va_end(args);
    }
    return open_badly(path, flags, mode);
}

int link(const char *from, const char *to)
{
    int (*next)(const char *, const char *);
    *(void **)&next = dlsym(RTLD_NEXT, "link");
    return is_to_fail("name") || is_to_fail("link") ? fail_with(EPERM) : next(from, to);
}

int linkat(int a, const char *from, int b, const char *to, int flags)
{
    int (*next)(int, const char *, int, const char *, int);
    *(void **)&next = dlsym(RTLD_NEXT, "linkat");
    return is_to_fail("name") || is_to_fail("link") ? fail_with(EPERM)
                                                    : next(a, from, b, to, flags);
}

int rename(const char *from, const char *to)
{
    int (*next)(const char *, const char *);
    *(void **)&next = dlsym(RTLD_NEXT, "rename");
    return is_to_fail("name") ? fail_with(EACCES) : next(from, to);
}
