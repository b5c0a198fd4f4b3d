/* SPDX-License-Identifier: MIT */
/*
 * A CUDA program that knows nothing of memtool and ends badly: by faults, without exit functions,
 * and while something below a snapshot does not answer. Its own malloc and open come before the C
 * library's, as a preload's call of them, and can be told to hang or to fail.
 */
#define _GNU_SOURCE 1 /* RTLD_NEXT */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "cuda_program.h"

enum { STUCK = 32 * MIB }; /* what the fake driver never comes back from */

#define DOOR __attribute__((visibility("default")))

static const char *const *arguments;

/* ---- the C library's functions, which may fail ---- */

static _Atomic bool no_malloc;    /* hangs */
static _Atomic bool no_files;     /* hangs */
static _Atomic int failing;       /* the nth allocation of other threads fails; 0: none */
static _Thread_local bool is_own; /* main's */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);

/* The dynamic linker itself ends a process that has no memory for a thread's variables. */
static bool is_linker(const void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "ld-linux");
}

static bool fails(const void *caller)
{
    while (atomic_load(&no_malloc)) {
        pause();
    }
    return atomic_load(&failing) > 0 && !is_own && !is_linker(caller) &&
           atomic_fetch_sub(&failing, 1) == 1;
}

DOOR void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

DOOR void *calloc(size_t count, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

DOOR void *realloc(void *p, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, size);
}

DOOR int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = va_arg(more, int);
    va_end(more);
    while (atomic_load(&no_files) && (flags & O_WRONLY) && !strstr(path, "list")) {
        pause();
    }
    return openat(AT_FDCWD, path, flags, mode);
}

/* ---- faults ---- */

static void segv(void)
{
    static volatile uintptr_t nowhere = 8;
    *(volatile int *)nowhere = 1;
}

static void *segv_in_thread(void *ignored)
{
    segv();
    return ignored;
}

static void thread(void)
{
    pthread_t t;
    EXPECT(pthread_create(&t, NULL, segv_in_thread, NULL) == 0);
    pthread_join(t, NULL);
}

static void bus(void)
{
    raise(SIGBUS);
}

static void divide(void)
{
    volatile int zero = 0, one = 1;
    one = one / zero;
}

static void illegal(void)
{
    __builtin_trap();
}

static void killed(void)
{
    kill(getpid(), SIGSEGV);
    sleep(60);
}

/* As in a process whose heap is damaged and locked. */
static void no_heap(void)
{
    atomic_store(&no_malloc, true);
    segv();
}

static volatile int depth;
__attribute__((noinline)) static int deeper(const volatile char *outer)
{
    volatile char frame[1000];
    frame[0] = outer[0];
    depth++;
    return depth > 0 ? deeper(frame) + frame[0] : 0;
}

static void overflow(void)
{
    exit(deeper("x"));
}

static void own_handler(int number)
{
    (void)number;
    static const char text[] = "own handler\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written;
    exit(7);
}

static void handled(void)
{
    signal(SIGSEGV, own_handler);
    segv();
}

/* A fault on purpose, which the handler repairs: nothing of it is an end. */
static volatile sig_atomic_t repaired;
static void repair(int number)
{
    (void)number;
    repaired = 1;
}

static void on_purpose(void)
{
    signal(SIGFPE, repair);
    raise(SIGFPE);
    EXPECT(repaired);
    exit(9);
}

static void forked(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        abort();
    }
    EXPECT(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGABRT);
    exit(9);
}

static void vforked(void)
{
    int status;
    pid_t child = vfork();
    if (child == 0) {
        _exit(3);
    }
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
    exit(9);
}

/* ---- without exit functions ---- */

static void quickly(void)
{
    _exit(6);
}

static void at_once(void)
{
    _Exit(6);
}

static void quick(void)
{
    quick_exit(6);
}

/* ---- something does not answer ---- */

static void *get_stuck(void *ignored)
{
    void *p;
    cudaMalloc(&p, STUCK);
    return ignored;
}

static void moment(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void stick_driver(void)
{
    pthread_t t;
    EXPECT(pthread_create(&t, NULL, get_stuck, NULL) == 0);
    moment(200);
}

/* What this thread is to do then: an exit, a signal to itself, a refusal, a fork. */
static void act(const char *what)
{
    void *p;
    if (strcmp(what, "exit") == 0) {
        exit(9);
    } else if (strcmp(what, "oom") == 0) {
        EXPECT(cudaMalloc(&p, (size_t)1 << 50) == 2);
        exit(9);
    } else if (strcmp(what, "usr2") == 0) {
        kill(getpid(), SIGUSR2);
        moment(3000);
        _exit(9);
    } else if (strcmp(what, "fork") == 0) {
        kill(getpid(), SIGUSR2);
        moment(200);
        forked();
    } else if (strcmp(what, "segv") == 0) {
        segv();
    }
    kill(getpid(), SIGTERM);
    if (strcmp(what, "twice") == 0) {
        moment(700);
        kill(getpid(), SIGTERM);
    }
    sleep(100);
}

static void stuck_driver(void)
{
    stick_driver();
    act(arguments[2]);
}

static void stuck_files(void)
{
    atomic_store(&no_files, true);
    act(arguments[2]);
}

static void fail_at_end(void)
{
    atomic_store(&failing, (int)strtol(arguments[2], NULL, 10));
    exit(9);
}

static void fail_at_exit_told(void)
{
    if (atomic_load(&failing) > 0) {
        static const char text[] = "none failed\n";
        ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
        (void)written;
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} ends[] = {{"segv", segv},
            {"thread", thread},
            {"abort", abort},
            {"bus", bus},
            {"fpe", divide},
            {"ill", illegal},
            {"killed", killed},
            {"no-heap", no_heap},
            {"overflow", overflow},
            {"handled", handled},
            {"on-purpose", on_purpose},
            {"forked", forked},
            {"vforked", vforked},
            {"_exit", quickly},
            {"_Exit", at_once},
            {"quick", quick},
            {"stuck-driver", stuck_driver},
            {"stuck-files", stuck_files},
            {"fail", fail_at_end}};

int main(int argc, char **argv)
{
    arguments = (const char *const *)argv;
    is_own = true;
    atexit(fail_at_exit_told); /* runs after what the first CUDA call registers */
    EXPECT(argc > 1 && take(3 * MIB));
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (strcmp(ends[i].name, argv[1]) == 0) {
            ends[i].run();
        }
    }
    return 2;
}
