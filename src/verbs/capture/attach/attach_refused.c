/* SPDX-License-Identifier: MIT */
/* Why the system does not let memtool into a process, and the command that makes it. */
#include "verbs/capture/attach/attach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* kernel.yama.ptrace_scope; -1: there is none. */
static int ptrace_scope(void)
{
    int scope = -1;
    FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (f && fscanf(f, "%d", &scope) != 1) {
        scope = -1;
    }
    if (f) {
        fclose(f);
    }
    return scope;
}

static bool may_trace(void)
{
    enum { CAP_SYS_PTRACE_BIT = 19 };
    char line[256];
    unsigned long long mask = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "CapEff: %llx", &mask) == 1) {
            break;
        }
    }
    if (f) {
        fclose(f);
    }
    return mask >> CAP_SYS_PTRACE_BIT & 1;
}

static bool in_container(void)
{
    return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
}

static enum mt_status not_allowed(const struct mt_attach_target *t, struct mt_error *err)
{
    long pid = (long)t->pid;
    int scope = ptrace_scope();
    if (geteuid() != 0 && t->uid != geteuid()) {
        mt_fail(err, MT_IO, MT_NO_OFFSET, "process %ld is user %lu's, and you are user %lu", pid,
                (unsigned long)t->uid, (unsigned long)geteuid());
        return mt_hint(err, "sudo memtool capture --pid %ld", pid);
    }
    if (scope == 3) {
        mt_fail(err, MT_IO, MT_NO_OFFSET,
                "this machine lets nobody into a process (kernel.yama.ptrace_scope is 3)");
        return mt_hint(err, "only a restart changes that; next time: memtool capture -- PROGRAM");
    }
    if (scope > 0 && !may_trace()) {
        mt_fail(err, MT_IO, MT_NO_OFFSET,
                "this machine lets only root into a process (kernel.yama.ptrace_scope is %d)",
                scope);
        return mt_hint(err, "sudo memtool capture --pid %ld%s", pid,
                       scope == 1 ? "; or: echo 0 | sudo tee /proc/sys/kernel/yama/ptrace_scope"
                                  : "");
    }
    if (geteuid() == 0 || in_container()) {
        mt_fail(err, MT_IO, MT_NO_OFFSET,
                "this container or its security rules do not let memtool into process %ld", pid);
        return mt_hint(err, "docker run --cap-add=SYS_PTRACE ...; or run memtool on the host");
    }
    mt_fail(err, MT_IO, MT_NO_OFFSET, "the system does not let memtool into process %ld", pid);
    return mt_hint(err, "sudo memtool capture --pid %ld", pid);
}

enum mt_status mt_attach_refused(const struct mt_attach_target *target, int error,
                                 struct mt_error *err)
{
    if (error == EPERM || error == EACCES) {
        return not_allowed(target, err);
    }
    if (error == ESRCH || error == ENOENT) {
        return mt_fail(err, MT_NOT_FOUND, MT_NO_OFFSET, "process %ld has ended", (long)target->pid);
    }
    if (error == ENOSYS) {
        mt_fail(err, MT_UNSUPPORTED, MT_NO_OFFSET, "this system has no ptrace");
        return mt_hint(err, "next time: memtool capture -- PROGRAM");
    }
    return mt_fail(err, MT_IO, MT_NO_OFFSET, "process %ld cannot be reached: %s", (long)target->pid,
                   strerror(error));
}
