/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "verbs/capture/attach/attach_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/frame.h"

enum mt_status mt_attach_folder_make(struct mt_attach_folder *f, const struct mt_attach_target *t,
                                     struct mt_error *err)
{
    int n = t->own_mounts ? snprintf(f->path, sizeof f->path, "/proc/%ld/root", (long)t->pid) : 0;
    f->inside = (size_t)n;
    f->uid = t->uid;
    snprintf(f->path + n, sizeof f->path - f->inside, "/tmp/memtool-attach.XXXXXX");
    if (!mkdtemp(f->path)) {
        mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "cannot make %s: %s", f->path, strerror(errno));
        f->path[0] = '\0';
        return mt_hint(err, "the process needs a /tmp that it can read and write");
    }
    f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (f->fd < 0 || (geteuid() != t->uid && fchown(f->fd, t->uid, t->gid) != 0)) {
        return mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "cannot give %s to user %lu: %s", f->path,
                       (unsigned long)t->uid, strerror(errno));
    }
    return MT_OK;
}

/* The process may be writing into it at this moment. */
static void empty(const struct mt_attach_folder *f)
{
    int fd = openat(f->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    for (struct dirent *d = folder ? readdir(folder) : NULL; d; d = readdir(folder)) {
        unlinkat(f->fd, d->d_name, 0);
    }
    if (folder) {
        closedir(folder);
    } else if (fd >= 0) {
        close(fd);
    }
}

void mt_attach_folder_remove(struct mt_attach_folder *f)
{
    enum { TRIES = 3 };
    if (!f->path[0]) {
        return;
    }
    for (int i = 0; f->fd >= 0 && i < TRIES; i++) {
        empty(f);
        if (rmdir(f->path) == 0 || errno != ENOTEMPTY) {
            break;
        }
    }
    if (f->fd >= 0) {
        close(f->fd);
    } else {
        rmdir(f->path);
    }
    f->path[0] = '\0';
}

enum mt_status mt_attach_folder_script(const struct mt_attach_folder *f,
                                       const struct mt_buf *settings, const unsigned char *script,
                                       size_t n, struct mt_error *err)
{
    if (settings->failed) {
        return mt_fail_nomem(err);
    }
    int fd = openat(f->fd, "run.py", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool ok = out && fprintf(out, "SETTINGS = {'folder': '%s', %s}\n", f->path + f->inside,
                             settings->p) > 0;
    ok = ok && fwrite(script, 1, n, out) == n && fchmod(fd, 0644) == 0;
    ok = (!out || fclose(out) == 0) && ok;
    return ok ? MT_OK
              : mt_fail(err, MT_OUTPUT, MT_NO_OFFSET, "cannot write into %s: %s", f->path,
                        strerror(errno));
}

enum mt_status mt_attach_folder_run(const struct mt_attach_folder *f,
                                    const struct mt_attach_target *target, enum mt_attach_way way,
                                    enum mt_attach_way *used, struct mt_error *err)
{
    char path[sizeof f->path + 16];
    snprintf(path, sizeof path, "%s/run.py", f->path + f->inside);
    return mt_attach_run(target, path, way, used, err);
}

bool mt_attach_folder_has(const struct mt_attach_folder *f, const char *name)
{
    struct stat st;
    return fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A link there could lead memtool, which may be root's, to any file. */
FILE *mt_attach_folder_open(const struct mt_attach_folder *f, const char *name)
{
    struct stat st;
    int fd = openat(f->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    bool its =
        fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == f->uid && st.st_nlink == 1;
    FILE *in = its ? fdopen(fd, "r") : NULL;
    if (!in) {
        close(fd);
        errno = EPERM;
    }
    return in;
}

void mt_attach_folder_read(const struct mt_attach_folder *f, const char *name, struct mt_buf *out)
{
    char text[1024];
    size_t n, room = 65536;
    FILE *in = mt_attach_folder_open(f, name);
    mt_buf_reset(out);
    while (in && room > 0 && (n = fread(text, 1, sizeof text, in)) > 0) {
        mt_buf_add(out, text, n < room ? n : room);
        room -= n < room ? n : room;
    }
    if (in) {
        fclose(in);
    }
    mt_buf_char(out, '\0');
    if (out->failed) {
        mt_cli_die_nomem();
    }
}

enum mt_status mt_attach_folder_refused(const char *why, pid_t pid, struct mt_error *err)
{
    if (strncmp(why, "no-torch", 8) == 0) {
        mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET, "process %ld has not imported torch", (long)pid);
        return mt_hint(err,
                       "nvidia-smi lists the processes on the card; a launcher's ranks are its "
                       "children: pgrep -P %ld",
                       (long)pid);
    }
    if (strncmp(why, "no-cuda", 7) == 0) {
        mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET, "process %ld has not used CUDA by PyTorch yet",
                (long)pid);
        return mt_hint(err, "wait until it does; or the process is another: nvidia-smi");
    }
    mt_fail(err, MT_UNSUPPORTED, MT_NO_OFFSET,
            "its PyTorch does not tell of an optimizer's steps (2.1 and later do)");
    return mt_hint(err, "--for 60s in place of --steps");
}
