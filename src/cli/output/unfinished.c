/* SPDX-License-Identifier: MIT */
/*
 * O_TMPFILE gives a file without a name, linkat names it once it is whole. linkat does not replace:
 * to put it in the place of an older file it gets a hidden name for a moment, and rename does the
 * rest. A second descriptor is kept, so that the stream can be closed, and its failure seen, before
 * the file is named.
 */
#define _GNU_SOURCE /* O_TMPFILE */
#include "cli/output/unfinished.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/mem.h"

#include "cli/frame.h"

/* "FOLDER/" of a path, or "", with `behind` behind it. */
static char *beside(const char *path, const char *behind)
{
    struct mt_buf b = {0};
    struct mt_str base = mt_str_basename(mt_str_from(path));
    mt_buf_add(&b, path, (size_t)(base.p - path));
    mt_buf_text(&b, behind);
    if (b.failed) {
        mt_cli_die_nomem();
    }
    return b.p;
}

/* ".NAME.END" beside the file; a long name is cut, since names may have 255 bytes. */
static char *hidden_name(const char *path, const char *end)
{
    enum { MOST = 200 };
    struct mt_buf b = {0};
    struct mt_str base = mt_str_basename(mt_str_from(path));
    mt_buf_printf(&b, ".%.*s.%s", (int)(base.n < MOST ? base.n : MOST), base.p, end);
    if (b.failed) {
        mt_cli_die_nomem();
    }
    char *name = beside(path, b.p);
    mt_buf_release(&b);
    return name;
}

/* ---- without a name ---- */

struct link_name {
    char s[40];
};

static struct link_name link_of(int fd)
{
    struct link_name n;
    snprintf(n.s, sizeof n.s, "/proc/self/fd/%d", fd);
    return n;
}

static int open_nameless(struct mt_cli_output *o)
{
    char *folder = beside(o->path, ".");
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    mt_mem_free(folder);
    o->nameless = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0 && (o->nameless < 0 || access(link_of(fd).s, F_OK) != 0)) {
        mt_unfinished_drop(o); /* no /proc: it could never be named */
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool link_as(const struct mt_cli_output *o, const char *path)
{
    return linkat(AT_FDCWD, link_of(o->nameless).s, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

/* A hidden name that nobody has. */
static bool link_hidden(struct mt_cli_output *o)
{
    bool linked = false;
    errno = EEXIST;
    for (int i = 0; i < 100 && !linked && errno == EEXIST; i++) {
        char end[40];
        snprintf(end, sizeof end, "%ld-%d", (long)getpid(), i);
        o->hidden = hidden_name(o->path, end);
        linked = link_as(o, o->hidden);
        if (linked) {
            mt_interrupt_removes(o->hidden);
        } else {
            int why = errno;
            mt_mem_free(o->hidden);
            o->hidden = NULL;
            errno = why;
        }
    }
    return linked;
}

/* ---- with a hidden name ---- */

/* The mode that open(2) would give a new file; umask can only be read by setting it. */
static mode_t new_file_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static int open_hidden(struct mt_cli_output *o)
{
    o->hidden = hidden_name(o->path, "XXXXXX");
    int fd = mkstemp(o->hidden);
    if (fd < 0) {
        int why = errno;
        mt_mem_free(o->hidden);
        o->hidden = NULL;
        errno = why;
        return -1;
    }
    mt_interrupt_removes(o->hidden);
    fchmod(fd, new_file_mode());
    return fd;
}

/* ---- faces ---- */

/* Whoever made a file private wants what replaces it to be so, from the first byte on. */
static void keep_mode(const struct mt_cli_output *o, int fd)
{
    struct stat st;
    if (o->force && stat(o->path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid()) {
        fchmod(fd, st.st_mode & 0777);
    }
}

int mt_unfinished_open(struct mt_cli_output *o)
{
    int fd = open_nameless(o);
    fd = fd >= 0 ? fd : open_hidden(o);
    if (fd >= 0) {
        keep_mode(o, fd);
    }
    return fd;
}

static bool take_name(struct mt_cli_output *o)
{
    if (o->nameless >= 0 && !o->force) {
        return link_as(o, o->path);
    }
    if (o->nameless >= 0 && !link_hidden(o)) {
        return false;
    }
    if (!o->force && link(o->hidden, o->path) == 0) {
        unlink(o->hidden);
        return true;
    }
    /* also where links are not supported */
    return (o->force || errno != EEXIST) && rename(o->hidden, o->path) == 0;
}

bool mt_unfinished_name(struct mt_cli_output *o)
{
    bool named = take_name(o);
    int why = errno;
    if (named && o->hidden) {
        mt_interrupt_keeps(o->hidden);
        mt_mem_free(o->hidden);
        o->hidden = NULL;
    }
    mt_unfinished_drop(o);
    errno = why;
    return named;
}

void mt_unfinished_drop(struct mt_cli_output *o)
{
    if (o->nameless >= 0) {
        close(o->nameless);
        o->nameless = -1;
    }
    if (o->hidden) {
        unlink(o->hidden);
        mt_interrupt_keeps(o->hidden);
        mt_mem_free(o->hidden);
        o->hidden = NULL;
    }
}
