/* SPDX-License-Identifier: MIT */
/*
 * Into a Python process without a debugger. One thread is stopped for about a millisecond and made
 * to call two things that any thread may call at any point: mmap, for a page that holds a line of
 * Python, and Py_AddPendingCall, which takes note that the main thread is to run that line when it
 * next comes to a safe point between two instructions of Python. Then all its registers are put
 * back, and the kernel goes on with the system call that the stop interrupted.
 *
 * Py_AddPendingCall takes a lock for the time of a few instructions. A thread that sleeps in the
 * kernel, or runs code that is not Python's, does not hold it.
 */
#define _GNU_SOURCE
#include "verbs/capture/attach/attach.h"

#if defined(__linux__) && defined(__x86_64__)
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/mem.h"

enum {
    STOP_MS = 5000, /* that a thread may take to stop: it may wait for a disk */
    CALL_MS = 2000, /* that a call in the process may take */
    RED_ZONE = 128, /* bytes below the stack's end that a function may use */
    VECTORS = 32768 /* at most, of a thread's vector registers */
};

/* A stopped thread. */
struct stopped {
    const struct mt_attach_target *target;
    pid_t thread;
    struct user_regs_struct before;
    struct iovec vectors; /* before too */
    uint64_t gate;        /* where a system call instruction lies */
    uint64_t page;        /* mapped for the text, 0: not yet */
    uint64_t mask;        /* of signals, before */
    int signal;           /* SIGSTOP came meanwhile and is to be passed on, 0: it did not */
};

/* Those that a call makes itself. Were one of them blocked, as CUDA's threads block all, the kernel
 * would forget the program's handler for it. All others wait until the call is over. */
static uint64_t only_faults(void)
{
    static const int FAULTS[] = {SIGSEGV, SIGTRAP, SIGBUS, SIGILL, SIGFPE};
    uint64_t mask = UINT64_MAX;
    for (size_t i = 0; i < sizeof FAULTS / sizeof FAULTS[0]; i++) {
        mask &= ~(UINT64_C(1) << (FAULTS[i] - 1));
    }
    return mask;
}

/* ---- waiting ---- */

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The next stop of the thread within `ms`; false: none came, or the thread is gone (ESRCH). */
static bool next_stop(pid_t thread, int64_t ms, int *status)
{
    int64_t end = now_ms() + ms;
    for (;;) {
        pid_t got = waitpid(thread, status, __WALL | WNOHANG);
        if (got == thread) {
            errno = WIFSTOPPED(*status) ? 0 : ESRCH;
            return WIFSTOPPED(*status);
        }
        if (got < 0 && errno != EINTR) {
            return false;
        }
        if (now_ms() >= end) {
            errno = ETIMEDOUT;
            return false;
        }
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
}

static bool is_event_stop(int status)
{
    return status >> 16 == PTRACE_EVENT_STOP;
}

/* Stops the thread where it is; signals that come first go to the program. */
static bool stop(pid_t thread)
{
    int64_t end = now_ms() + STOP_MS;
    int status;
    if (ptrace(PTRACE_INTERRUPT, thread, 0, 0) != 0) {
        return false;
    }
    while (next_stop(thread, end - now_ms(), &status)) {
        if (is_event_stop(status)) {
            return true;
        }
        if (ptrace(PTRACE_CONT, thread, 0, (uintptr_t)WSTOPSIG(status)) != 0) {
            return false;
        }
    }
    return false;
}

/* ---- calls in the process ---- */

static bool set_registers(const struct stopped *s, const struct user_regs_struct *to)
{
    return ptrace(PTRACE_SETREGS, s->thread, 0, to) == 0;
}

/* Goes on with these registers until a stop by `signal` comes at `at` (UINT64_MAX: anywhere). Any
 * other fault is the call's. */
static bool go(struct stopped *s, int how, struct user_regs_struct *r, int signal, uint64_t at)
{
    int status;
    if (!set_registers(s, r) || ptrace(how, s->thread, 0, 0) != 0) {
        return false;
    }
    int64_t end = now_ms() + CALL_MS;
    while (next_stop(s->thread, end - now_ms(), &status)) {
        int came = WSTOPSIG(status);
        if (ptrace(PTRACE_GETREGS, s->thread, 0, r) != 0) {
            return false;
        }
        if (came == signal && (at == UINT64_MAX || r->rip == at)) {
            return true;
        }
        if (came == SIGSEGV || came == SIGBUS || came == SIGILL) {
            errno = EFAULT;
            return false;
        }
        s->signal = is_event_stop(status) ? s->signal : came;
        if (ptrace(how, s->thread, 0, 0) != 0) {
            return false;
        }
    }
    return false;
}

static bool system_call(struct stopped *s, long number, const uint64_t a[6], uint64_t *result)
{
    struct user_regs_struct r = s->before;
    r.rax = (unsigned long long)number;
    r.orig_rax = UINT64_MAX; /* none is to be gone on with */
    r.rdi = a[0];
    r.rsi = a[1];
    r.rdx = a[2];
    r.r10 = a[3];
    r.r8 = a[4];
    r.r9 = a[5];
    r.rip = s->gate;
    if (!go(s, PTRACE_SINGLESTEP, &r, SIGTRAP, UINT64_MAX)) {
        return false;
    }
    *result = r.rax;
    return true;
}

/* Calls function(a, b); it returns to address 0, where the thread stops by a fault. */
static bool call(struct stopped *s, uint64_t function, uint64_t a, uint64_t b, uint64_t *result)
{
    static const uint64_t nowhere;
    struct user_regs_struct r = s->before;
    r.rsp = ((r.rsp - RED_ZONE) & ~UINT64_C(15)) - 8;
    if (ptrace(PTRACE_POKEDATA, s->thread, r.rsp, nowhere) != 0) {
        return false;
    }
    r.rip = function;
    r.rdi = a;
    r.rsi = b;
    r.rax = 0;
    r.orig_rax = UINT64_MAX;
    r.eflags &= ~UINT64_C(0x400); /* the direction flag, as functions expect it */
    if (!go(s, PTRACE_CONT, &r, SIGSEGV, 0)) {
        return false;
    }
    *result = r.rax;
    return true;
}

static bool read_memory(const struct stopped *s, uint64_t at, void *p, size_t n)
{
    struct iovec here = {p, n}, there = {(void *)(uintptr_t)at, n};
    return process_vm_readv(s->target->pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

static bool write_memory(const struct stopped *s, uint64_t at, const char *p, size_t n)
{
    struct iovec here = {(void *)(uintptr_t)p, n}, there = {(void *)(uintptr_t)at, n};
    return process_vm_writev(s->target->pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

/* ---- where ---- */

/* A system call instruction: the one that the thread is in, else one of the kernel's own page. */
static uint64_t find_gate(const struct stopped *s)
{
    static const unsigned char SYSCALL[] = {0x0f, 0x05};
    unsigned char text[4096];
    uint64_t at = s->before.rip - sizeof SYSCALL;
    if (read_memory(s, at, text, sizeof SYSCALL) && memcmp(text, SYSCALL, sizeof SYSCALL) == 0) {
        return at;
    }
    for (at = s->target->vdso; at < s->target->vdso_end; at += sizeof text) {
        const unsigned char *found = NULL;
        if (read_memory(s, at, text, sizeof text)) {
            found = memmem(text, sizeof text, SYSCALL, sizeof SYSCALL);
        }
        if (found) {
            return at + (uint64_t)(found - text);
        }
    }
    return 0;
}

/* The number of the system call that a thread sleeps in, -1: none, it runs. */
static long sleeps_in(pid_t pid, long thread)
{
    char path[64];
    long number = -1;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/syscall", (long)pid, thread);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%ld", &number) != 1) {
        number = -1;
    }
    if (f) {
        fclose(f);
    }
    return number;
}

/* A thread that waits for another one, which no stop disturbs; else the main one. */
static pid_t choose_thread(pid_t pid)
{
    char path[64];
    pid_t best = pid;
    snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    DIR *tasks = opendir(path);
    for (struct dirent *d = tasks ? readdir(tasks) : NULL; d; d = readdir(tasks)) {
        long thread = strtol(d->d_name, NULL, 10);
        if (thread > 0 && thread != pid && sleeps_in(pid, thread) == SYS_futex) {
            best = (pid_t)thread;
            break;
        }
    }
    if (tasks) {
        closedir(tasks);
    }
    return best;
}

/* ---- what is done ---- */

static bool save(struct stopped *s)
{
    uint64_t mask = only_faults();
    return ptrace(PTRACE_GETREGS, s->thread, 0, &s->before) == 0 &&
           ptrace(PTRACE_GETREGSET, s->thread, NT_X86_XSTATE, &s->vectors) == 0 &&
           ptrace(PTRACE_GETSIGMASK, s->thread, sizeof s->mask, &s->mask) == 0 &&
           ptrace(PTRACE_SETSIGMASK, s->thread, sizeof mask, &mask) == 0;
}

static bool map_page(struct stopped *s)
{
    const uint64_t a[6] = {
        0, MT_ATTACH_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0};
    s->gate = find_gate(s);
    uint64_t page;
    if (s->gate == 0 || !system_call(s, SYS_mmap, a, &page) || page > UINT64_MAX - 4096) {
        return false;
    }
    s->page = page;
    return true;
}

static bool ask(struct stopped *s, const char *script)
{
    enum { TRIES = 10 }; /* its queue holds 32 calls and more */
    struct mt_buf text = {0};
    uint64_t failed = 1;
    mt_attach_text(&text, script, s->page);
    bool ok =
        !text.failed && text.n < MT_ATTACH_PAGE && write_memory(s, s->page, text.p, text.n + 1);
    mt_buf_release(&text);
    for (int i = 0; ok && (uint32_t)failed != 0 && i < TRIES; i++) {
        ok = call(s, s->target->call, s->target->run, s->page, &failed);
    }
    return ok && (uint32_t)failed == 0;
}

static void undo(struct stopped *s, int error)
{
    const uint64_t a[6] = {s->page, MT_ATTACH_PAGE};
    uint64_t result;
    if (s->page && (error != ETIMEDOUT || stop(s->thread))) {
        (void)system_call(s, SYS_munmap, a, &result);
    }
}

/* The process goes on as if nothing had been. A thread that has not stopped by itself is stopped
 * for it: a tracer can only let go of one that is. */
static void let_go(struct stopped *s)
{
    if (ptrace(PTRACE_SETREGS, s->thread, 0, &s->before) != 0 && stop(s->thread)) {
        set_registers(s, &s->before);
    }
    ptrace(PTRACE_SETREGSET, s->thread, NT_X86_XSTATE, &s->vectors);
    ptrace(PTRACE_SETSIGMASK, s->thread, sizeof s->mask, &s->mask);
    ptrace(PTRACE_DETACH, s->thread, 0, (uintptr_t)s->signal);
}

static enum mt_status work(struct stopped *s, const char *script, struct mt_error *err)
{
    if (!save(s)) {
        int error = errno;
        ptrace(PTRACE_DETACH, s->thread, 0, 0);
        return mt_fail(err, MT_IO, MT_NO_OFFSET, "its registers cannot be read: %s",
                       strerror(error));
    }
    errno = 0;
    bool ok = map_page(s) && ask(s, script);
    int error = errno;
    if (!ok) {
        undo(s, error);
    }
    let_go(s);
    if (ok) {
        return MT_OK;
    }
    mt_fail(err, MT_IO, MT_NO_OFFSET,
            "process %ld did not take the call (%s); it goes on as it was", (long)s->target->pid,
            error ? strerror(error) : "its queue is full");
    return mt_hint(err, "try again, or --by gdb");
}

enum mt_status mt_attach_by_ptrace(const struct mt_attach_target *target, const char *script,
                                   struct mt_error *err)
{
    struct stopped s = {.target = target, .thread = choose_thread(target->pid)};
    char *vectors = mt_mem_zalloc(1, VECTORS);
    enum mt_status status;
    if (!vectors) {
        return mt_fail_nomem(err);
    }
    s.vectors = (struct iovec){vectors, VECTORS};
    sigset_t all, before; /* a signal must not end memtool while the thread has other registers */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    if (ptrace(PTRACE_SEIZE, s.thread, 0, 0) != 0) {
        status = mt_attach_refused(target, errno, err);
    } else if (!stop(s.thread)) {
        int error = errno; /* memtool's end lets go of it */
        mt_fail(err, MT_IO, MT_NO_OFFSET, "process %ld does not stop: %s", (long)target->pid,
                strerror(error));
        status = mt_hint(err, "it waits for a device or a disk; try again");
    } else {
        status = work(&s, script, err);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    mt_mem_free(vectors);
    return status;
}

#else

enum mt_status mt_attach_by_ptrace(const struct mt_attach_target *target, const char *script,
                                   struct mt_error *err)
{
    (void)target;
    (void)script;
    return mt_fail(err, MT_UNSUPPORTED, MT_NO_OFFSET,
                   "memtool itself reaches into processes of Linux on x86-64 alone");
}

#endif
