/* SPDX-License-Identifier: MIT */
/*
 * A process whose first thread has ended by pthread_exit, or by the system call exit, lives until
 * its last thread ends. Then nobody is left to tell memtool's threads, so that one more of them
 * looks, from then on, whether any other lives.
 */
#define _GNU_SOURCE 1 /* gettid by syscall, pthread_setname_np */
#include "live/core/own_thread.h"

#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/compiler.h"

#define NAME "memtool-live"

static atomic_bool any;
static _Atomic int ends; /* the process whose first thread has ended */

static void block_signals(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigset_t all;
    sigfillset(&all);
    for (size_t i = 0; i < MT_COUNT(faults); i++) {
        sigdelset(&all, faults[i]);
    }
    pthread_sigmask(SIG_SETMASK, &all, before);
}

bool mt_own_thread_start(pthread_t *thread, void *(*work)(void *), void *ctx)
{
    sigset_t before;
    block_signals(&before);
    int failed = pthread_create(thread, NULL, work, ctx);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed == 0) {
        (void)pthread_setname_np(*thread, NAME);
        pthread_detach(*thread);
        atomic_store(&any, true);
    }
    return failed == 0;
}

/* ---- the end ---- */

/* A file of a thread in /proc, as text; empty when the thread is gone. */
static void read_of(const char *thread, const char *file, char *text, size_t size)
{
    char path[80];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/%s", thread, file);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, size - 1, f) : 0;
    text[n] = '\0';
    if (f) {
        fclose(f);
    }
}

/* The first thread stays in the list, as a zombie. *code: what it gave to exit. */
static bool first_is_gone(int *code)
{
    enum { MOST = 1024 }; /* 52 numbers */
    char text[MOST], first[24];
    snprintf(first, sizeof first, "%ld", (long)getpid());
    read_of(first, "stat", text, sizeof text);
    const char *behind_name = strrchr(text, ')'), *last = strrchr(text, ' ');
    *code = last ? (int)(strtol(last, NULL, 10) >> 8 & 0xFF) : 0;
    return behind_name && strncmp(behind_name, ") Z", 3) == 0;
}

/* Ended, or memtool's. */
static bool counts_not(const char *thread)
{
    char text[64];
    int code;
    if ((pid_t)strtol(thread, NULL, 10) == getpid()) {
        return first_is_gone(&code);
    }
    read_of(thread, "comm", text, sizeof text);
    return text[0] == '\0' || strcmp(text, NAME "\n") == 0;
}

static bool alone(void)
{
    DIR *threads = opendir("/proc/self/task");
    bool others = threads == NULL;
    for (const struct dirent *t; threads && !others && (t = readdir(threads)) != NULL;) {
        others = t->d_name[0] != '.' && !counts_not(t->d_name);
    }
    if (threads) {
        closedir(threads);
    }
    return !others;
}

/* Twice, for a thread may have made another behind the place where the list was read. */
static void *end_with_the_last(void *ctx)
{
    enum { FIRST_NAP_NS = 1000000, LONGEST_NAP_NS = 100000000 };
    long nap_ns = FIRST_NAP_NS;
    for (int looks = 0; looks < 2; looks = alone() ? looks + 1 : 0) {
        nanosleep(&(struct timespec){.tv_nsec = nap_ns}, NULL);
        nap_ns = nap_ns < LONGEST_NAP_NS ? 2 * nap_ns : nap_ns;
    }
    int code;
    (void)first_is_gone(&code);
    exit(code);
    return ctx;
}

static void end_once(void)
{
    pthread_t thread;
    if (atomic_exchange(&ends, (int)getpid()) != (int)getpid()) {
        (void)mt_own_thread_start(&thread, end_with_the_last, NULL);
    }
}

void mt_own_thread_first_ends(void)
{
    if (atomic_load(&any) && (pid_t)syscall(SYS_gettid) == getpid()) {
        end_once();
    }
}

void mt_own_thread_look(void)
{
    int code;
    if (first_is_gone(&code)) {
        end_once();
    }
}
