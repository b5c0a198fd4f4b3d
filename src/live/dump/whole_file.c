/* SPDX-License-Identifier: MIT */
/*
 * O_TMPFILE gives a file without a name, linkat names it once it is whole, link gives it the wanted
 * name if nobody has it, rename puts it in the place of an older file. There is no fsync: it guards
 * against a crash of the machine, not of the process, and would cost more than all the rest of a
 * dump.
 */
#define _GNU_SOURCE 1 /* O_TMPFILE */
#include "live/dump/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool link_of(int fd, char *out, size_t size)
{
    snprintf(out, size, "/proc/self/fd/%d", fd);
    return access(out, F_OK) == 0;
}

/* -1 where a file could not be named later: no O_TMPFILE in that file system, or no /proc. */
static int open_nameless(const char *path, mode_t mode)
{
    char folder[MT_WHOLE_PATH_MAX] = ".", link_path[32];
    const char *slash = strrchr(path, '/');
    size_t n = !slash ? 1 : slash == path ? 1 : (size_t)(slash - path);
    if (n >= sizeof folder) {
        return -1;
    }
    if (slash) {
        memcpy(folder, path, n);
        folder[n] = '\0';
    }
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (fd >= 0 && !link_of(fd, link_path, sizeof link_path)) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

/* Processes of other machines and containers may have our number and write beside us, so the name
 * has the time in it too, and a file that is there already is not ours. */
static bool make_partial_name(struct mt_whole_file *f, const char *path)
{
    enum { MOST = 200 }; /* a name has 255 bytes, and this one a number more than the file's */
    struct timespec now;
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    int length = (int)(base - path) + (int)strnlen(base, MOST);
    clock_gettime(CLOCK_REALTIME, &now);
    unsigned long mix = (unsigned long)now.tv_nsec ^ ((unsigned long)now.tv_sec & 3) << 30;
    int n = snprintf(f->partial, sizeof f->partial, "%.*s.%ld.%08lx.partial", length, path,
                     (long)getpid(), mix);
    return n >= 0 && (size_t)n < sizeof f->partial;
}

/* A pipe or a device is not to become a file: root may put one in the place of /dev/null. */
static int refuse_what_is_no_file(const struct stat *st)
{
    return S_ISREG(st->st_mode) ? 0 : S_ISDIR(st->st_mode) ? EISDIR : MT_WHOLE_NO_FILE;
}

int mt_whole_file_open(struct mt_whole_file *f, const char *path, bool other_name)
{
    struct stat st;
    mode_t mode = 0666;
    if (stat(path, &st) == 0) {
        int error = refuse_what_is_no_file(&st);
        if (error != 0 && !other_name) {
            return error;
        }
        if (error == 0) {
            mode &= st.st_mode; /* what a private file holds is not for everybody meanwhile */
        }
    }
    if (!make_partial_name(f, path)) {
        return ENAMETOOLONG;
    }
    f->fd = open_nameless(path, mode);
    f->nameless = f->fd >= 0;
    if (f->fd < 0) {
        f->fd = open(f->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    }
    return f->fd >= 0 ? 0 : errno;
}

int mt_whole_file_close(struct mt_whole_file *f)
{
    char link_path[32];
    int error = 0;
    if (f->nameless &&
        (!link_of(f->fd, link_path, sizeof link_path) ||
         linkat(AT_FDCWD, link_path, AT_FDCWD, f->partial, AT_SYMLINK_FOLLOW) != 0)) {
        error = errno;
    }
    if (close(f->fd) != 0 && error == 0) {
        error = errno;
    }
    f->fd = -1;
    if (error != 0) {
        (void)unlink(f->partial);
    }
    return error;
}

/* ---- names ---- */

/* Where there are no hard links an empty file takes the name first. */
static int take_without_link(const struct mt_whole_file *f, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return errno;
    }
    (void)close(fd);
    return mt_whole_file_replace(f, path);
}

int mt_whole_file_take(const struct mt_whole_file *f, const char *path)
{
    if (link(f->partial, path) == 0) {
        (void)unlink(f->partial);
        return 0;
    }
    return errno == EPERM || errno == ENOSYS || errno == EOPNOTSUPP ? take_without_link(f, path)
                                                                    : errno;
}

int mt_whole_file_replace(const struct mt_whole_file *f, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid()) {
        (void)chmod(f->partial, st.st_mode & 0777);
    }
    return rename(f->partial, path) == 0 ? 0 : errno;
}

/* When it got its name is when its inode was last changed. */
static bool is_older(const char *path, int64_t since_ns, struct stat *st)
{
    return lstat(path, st) == 0 && (S_ISREG(st->st_mode) || S_ISLNK(st->st_mode)) &&
           (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec < since_ns;
}

/* Who has made the file NUMBER.replaced replaces the file of that inode, and nobody else: between
 * a look at it and the rename another process may have put its own there. */
int mt_whole_file_replace_older(const struct mt_whole_file *f, const char *path, int64_t since_ns)
{
    struct stat st;
    char claim[MT_WHOLE_PATH_MAX + 40];
    if (!is_older(path, since_ns, &st)) {
        return EEXIST;
    }
    const char *slash = strrchr(path, '/');
    int n = snprintf(claim, sizeof claim, "%.*s.%llx.replaced", slash ? (int)(slash + 1 - path) : 0,
                     path, (unsigned long long)st.st_ino);
    int fd = n >= 0 && (size_t)n < sizeof claim
                 ? open(claim, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
                 : -1;
    if (fd < 0) {
        return EEXIST;
    }
    int error = is_older(path, since_ns, &st) ? mt_whole_file_replace(f, path) : EEXIST;
    (void)close(fd);
    (void)unlink(claim);
    return error;
}

void mt_whole_file_drop(const struct mt_whole_file *f)
{
    (void)unlink(f->partial);
}

/* ---- both at once ---- */

int mt_whole_file_commit(struct mt_whole_file *f, const char *path)
{
    int error = mt_whole_file_close(f);
    if (error == 0) {
        error = mt_whole_file_replace(f, path);
        if (error != 0) {
            mt_whole_file_drop(f);
        }
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
