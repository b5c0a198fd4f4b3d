/* SPDX-License-Identifier: MIT */
/*
 * O_TMPFILE gives a file without a name, linkat names it once it is whole, rename puts it in the
 * place of an older one. There is no fsync: it guards against a crash of the machine, not of the
 * process, and would cost more than all the rest of a dump.
 */
#define _GNU_SOURCE 1 /* O_TMPFILE */
#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int open_nameless(const char *path)
{
    char folder[MT_WHOLE_PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash) {
        return open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    }
    size_t n = slash == path ? 1 : (size_t)(slash - path);
    if (n >= sizeof folder) {
        return -1;
    }
    memcpy(folder, path, n);
    folder[n] = '\0';
    return open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

/* Processes of other machines and containers may have our number and write beside us, so the name
 * has the time in it too, and a file that is there already is not ours. */
static bool make_partial_name(struct mt_whole_file *f, const char *path)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    unsigned long mix = (unsigned long)now.tv_nsec ^ ((unsigned long)now.tv_sec & 3) << 30;
    int n =
        snprintf(f->partial, sizeof f->partial, "%s.%ld.%08lx.partial", path, (long)getpid(), mix);
    return n >= 0 && (size_t)n < sizeof f->partial;
}

/* A pipe or a device is not to become a file: root may put one in the place of /dev/null. */
static int refuse_what_is_no_file(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode)) {
        return 0;
    }
    return S_ISDIR(st.st_mode) ? EISDIR : MT_WHOLE_NO_FILE;
}

int mt_whole_file_open(struct mt_whole_file *f, const char *path)
{
    int error = refuse_what_is_no_file(path);
    if (error != 0) {
        return error;
    }
    if (!make_partial_name(f, path)) {
        return ENAMETOOLONG;
    }
    f->fd = open_nameless(path);
    f->nameless = f->fd >= 0;
    if (f->fd < 0) {
        f->fd = open(f->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    return f->fd >= 0 ? 0 : errno;
}

static int name_it(const struct mt_whole_file *f)
{
    char link_path[64];
    if (!f->nameless) {
        return 0;
    }
    snprintf(link_path, sizeof link_path, "/proc/self/fd/%d", f->fd);
    return linkat(AT_FDCWD, link_path, AT_FDCWD, f->partial, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

int mt_whole_file_commit(struct mt_whole_file *f, const char *path)
{
    int error = name_it(f);
    if (close(f->fd) != 0 && error == 0) {
        error = errno;
    }
    if (error == 0 && rename(f->partial, path) != 0) {
        error = errno;
    }
    if (error != 0) {
        (void)unlink(f->partial);
    }
    return error;
}

void mt_whole_file_abandon(struct mt_whole_file *f)
{
    (void)close(f->fd);
    if (!f->nameless) {
        (void)unlink(f->partial);
    }
}
