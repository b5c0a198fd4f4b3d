/* SPDX-License-Identifier: MIT */
/*
 * A handler of a fault asks the writer's thread for a snapshot and waits for a limited time; then
 * it puts the signal's default in its place and sends the same signal to itself, so the process
 * ends as it would have, with the same status and the same place in its core. It calls nothing that
 * is not async-signal-safe, and little of it: it may run on a small stack.
 */
#define _GNU_SOURCE 1 /* MAP_STACK, SYS_rt_tgsigqueueinfo */
#include "live/dump/crash.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WRITERS_MAX = 2, STACK_BYTES = 128 << 10 };

/* A signal handler gets no argument: whom it asks stands in a global. */
static struct {
    struct mt_writer *writers[WRITERS_MAX]; /* of the preload and of PyTorch's allocator */
    _Atomic int n;
    _Atomic int crashing, over; /* threads: the first one asks, the others wait for it */
} crash;

static const int faults[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};

static void ask(struct mt_writer *w, enum mt_snapshot_why why)
{
    const struct mt_write_request r = {.why = why, .careful = true};
    struct mt_error err;
    if (mt_writer_lives(w) && !atomic_exchange(&w->ended, true) &&
        mt_writer_ask(w, &r, NULL, &err) != MT_OK) {
        w->on_failure(err.text);
    }
}

/* In a child of the process that asked for this, or of vfork, there is nobody to ask. */
static void ask_all(void)
{
    for (int i = 0; i < atomic_load(&crash.n); i++) {
        if (mt_writer_faulted(crash.writers[i])) {
            return;
        }
    }
    if (atomic_exchange(&crash.crashing, 1) == 0) {
        for (int i = 0; i < atomic_load(&crash.n); i++) {
            ask(crash.writers[i], MT_SNAPSHOT_CRASH);
        }
        atomic_store(&crash.over, 1);
        return;
    }
    while (!atomic_load(&crash.over)) { /* the writers' limit is this one's */
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    const struct sigaction as_without = {.sa_handler = SIG_DFL};
    int saved = errno;
    (void)context;
    ask_all();
    sigaction(number, &as_without, NULL);
    /* blocked until this handler has returned; then the process ends at the place of the fault */
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), number, info) != 0) {
        raise(number);
    }
    errno = saved;
}

/* Its first page keeps an overflow of this stack from being unseen. */
static void give_stack(void)
{
    stack_t there, own = {.ss_size = STACK_BYTES};
    long page = sysconf(_SC_PAGESIZE);
    if (sigaltstack(NULL, &there) != 0 || !(there.ss_flags & SS_DISABLE)) {
        return;
    }
    void *p = mmap(NULL, STACK_BYTES + (size_t)page, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (p == MAP_FAILED) {
        return;
    }
    (void)mprotect(p, (size_t)page, PROT_NONE);
    own.ss_sp = (char *)p + page;
    (void)sigaltstack(&own, NULL);
}

static void catch_fault(int number)
{
    struct sigaction before, action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    action.sa_sigaction = on_fault;
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &before) == 0 && !(before.sa_flags & SA_SIGINFO) &&
        before.sa_handler == SIG_DFL) {
        (void)sigaction(number, &action, NULL);
    }
}

void mt_crash_watch(struct mt_writer *w)
{
    int n = atomic_load(&crash.n);
    if (n == WRITERS_MAX) {
        return;
    }
    crash.writers[n] = w;
    atomic_store(&crash.n, n + 1);
    give_stack();
    for (size_t i = 0; i < MT_COUNT(faults); i++) {
        catch_fault(faults[i]);
    }
}

void mt_crash_yield(void)
{
    for (int i = 0; i < atomic_load(&crash.n); i++) {
        mt_writer_yield(crash.writers[i]);
    }
}

void mt_crash_quick_end(void)
{
    mt_crash_yield();
    for (int i = 0; i < atomic_load(&crash.n); i++) {
        ask(crash.writers[i], MT_SNAPSHOT_EXIT);
    }
}
