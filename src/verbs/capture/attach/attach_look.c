/* SPDX-License-Identifier: MIT */
/* A process from outside, by what the kernel says of it under /proc. */
#include "verbs/capture/attach/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/mem.h"

/* /proc/PID/NAME, for mt_mem_free. */
static char *entry(pid_t pid, const char *name)
{
    struct mt_buf b = {0};
    mt_buf_printf(&b, "/proc/%ld/%s", (long)pid, name);
    return b.failed ? NULL : b.p;
}

static FILE *open_entry(pid_t pid, const char *name)
{
    char *path = entry(pid, name);
    FILE *f = path ? fopen(path, "re") : NULL;
    mt_mem_free(path);
    return f;
}

/* ---- status ---- */

static bool read_status(struct mt_attach_target *t)
{
    char line[512];
    unsigned long a, b;
    unsigned long long mask;
    long tracer;
    FILE *f = open_entry(t->pid, "status");
    if (!f) {
        return false;
    }
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "State:", 6) == 0) {
            t->state = line[6 + strspn(line + 6, " \t")];
        } else if (sscanf(line, "Uid: %lu %lu", &a, &b) == 2) {
            t->uid = (uid_t)b;
        } else if (sscanf(line, "Gid: %lu %lu", &a, &b) == 2) {
            t->gid = (gid_t)b;
        } else if (sscanf(line, "TracerPid: %ld", &tracer) == 1) {
            t->tracer = (pid_t)tracer;
        } else if (sscanf(line, "SigCgt: %llx", &mask) == 1) {
            t->caught = mask;
        }
    }
    fclose(f);
    return t->state != 0;
}

static bool other_mounts(pid_t pid)
{
    struct stat own, its;
    char *path = entry(pid, "ns/mnt");
    bool other = path && stat("/proc/self/ns/mnt", &own) == 0 && stat(path, &its) == 0 &&
                 (own.st_ino != its.st_ino || own.st_dev != its.st_dev);
    mt_mem_free(path);
    return other;
}

char *mt_attach_environment(const struct mt_attach_target *target, const char *name)
{
    struct mt_buf word = {0};
    char *found = NULL;
    size_t n = strlen(name);
    FILE *f = open_entry(target->pid, "environ");
    for (int c = f ? getc(f) : EOF; c != EOF && !found; c = getc(f)) {
        mt_buf_char(&word, (char)c);
        if (c == 0) {
            if (word.p && word.n > n + 1 && strncmp(word.p, name, n) == 0 && word.p[n] == '=') {
                struct mt_buf value = {0};
                mt_buf_text(&value, word.p + n + 1);
                found = value.p;
            }
            mt_buf_reset(&word);
        }
    }
    if (f) {
        fclose(f);
    }
    mt_buf_release(&word);
    return found;
}

/* ---- Python ---- */

/* Fills run, call and python when that file, mapped from `start` on, is Python's. */
static void look_into(struct mt_attach_target *t, const char *file, uint64_t start)
{
    struct mt_buf path = {0};
    uint64_t first = 0;
    mt_buf_printf(&path, "/proc/%ld/root%s", (long)t->pid, file);
    if (path.failed) {
        return;
    }
    uint64_t call = mt_attach_symbol(path.p, "Py_AddPendingCall", &first);
    uint64_t run = call ? mt_attach_symbol(path.p, "PyRun_SimpleString", &first) : 0;
    if (run) {
        t->call = start - first + call;
        t->run = start - first + run;
    }
    mt_buf_release(&path);
}

/* "python3.12", "libpython3.12.so.1.0": 312. */
static int version_in(const char *name)
{
    int major, minor;
    const char *at = strstr(name, "python");
    return at && sscanf(at, "python%d.%d", &major, &minor) == 2 && major == 3 && minor >= 0 &&
                   minor < 100
               ? major * 100 + minor
               : 0;
}

/* Whether a file may hold Python itself: the program, or a library of that name. */
static bool may_be_python(const struct mt_attach_target *t, const char *file)
{
    const char *base = strrchr(file, '/');
    return strcmp(file, t->exe) == 0 || strncmp(base ? base + 1 : file, "libpython", 9) == 0;
}

static void look_at_map(struct mt_attach_target *t, const char *line)
{
    unsigned long long start, end, offset;
    int at = 0;
    if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %n", &start, &end, &offset, &at) < 3 || !at) {
        return;
    }
    const char *file = line + at;
    if (strcmp(file, "[vdso]") == 0) {
        t->vdso = start;
        t->vdso_end = end;
    }
    t->torch |= strstr(file, "/libtorch") || strstr(file, "/libc10");
    if (file[0] != '/') {
        return;
    }
    const char *base = strrchr(file, '/') + 1;
    if (t->python == 0 && may_be_python(t, file)) {
        t->python = version_in(base);
    }
    if (offset == 0 && !t->call && may_be_python(t, file)) {
        look_into(t, file, start);
    }
}

static bool read_maps(struct mt_attach_target *t)
{
    char line[4096 + 128]; /* a path and the numbers before it */
    FILE *f = open_entry(t->pid, "maps");
    if (!f) {
        return false;
    }
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        look_at_map(t, line);
    }
    fclose(f);
    return true;
}

static bool read_exe(struct mt_attach_target *t)
{
    char *path = entry(t->pid, "exe");
    ssize_t n = path ? readlink(path, t->exe, sizeof t->exe - 1) : -1;
    mt_mem_free(path);
    t->exe[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* ---- refusals that need no trial ---- */

static enum mt_status check_state(const struct mt_attach_target *t, struct mt_error *err)
{
    if (t->state == 'Z' || t->state == 'X') {
        return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET, "process %ld has ended", (long)t->pid);
    }
    if (t->tracer) {
        mt_fail(err, MT_IO, MT_NO_OFFSET, "process %ld is being debugged by process %ld",
                (long)t->pid, (long)t->tracer);
        return mt_hint(err, "end that first; ps -p %ld", (long)t->tracer);
    }
    if (t->state == 'T' || t->state == 't') {
        mt_fail(err, MT_IO, MT_NO_OFFSET, "process %ld is stopped", (long)t->pid);
        return mt_hint(err, "kill -CONT %ld", (long)t->pid);
    }
    return MT_OK;
}

enum mt_status mt_attach_look(pid_t pid, struct mt_attach_target *target, struct mt_error *err)
{
    *target = (struct mt_attach_target){.pid = pid};
    if (!read_status(target)) {
        mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET, "there is no process %ld", (long)pid);
        return mt_hint(err, "nvidia-smi lists the processes on the card");
    }
    MT_TRY(check_state(target, err));
    if (!read_exe(target) || !read_maps(target)) {
        return mt_attach_refused(target, errno, err);
    }
    target->own_mounts = other_mounts(pid);
    return MT_OK;
}
