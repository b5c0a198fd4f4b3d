/* SPDX-License-Identifier: MIT */
/*
 * A CUDA program that does what programs rarely do, named by its first argument; it knows nothing
 * of memtool. tests/live/run-odd compares how it ends, and what it prints, with and without
 * memtool.
 */
#define _GNU_SOURCE 1 /* clone */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda_program.h"

static char *self;
static volatile sig_atomic_t handled;

static void allocate_in_handler(int number)
{
    void *p = NULL;
    (void)number;
    handled++;
    EXPECT(cudaMalloc(&p, 4096) == 0 && cudaFree(p) == 0);
}

/* Between calls of CUDA, on a stack of its own that is not large. */
static int handler(void)
{
    stack_t stack = {.ss_sp = malloc(8192), .ss_size = 8192};
    struct sigaction act = {.sa_handler = allocate_in_handler, .sa_flags = SA_ONSTACK};
    EXPECT(stack.ss_sp && sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR1, &act, NULL) == 0);
    take(MIB); /* the first call loads libraries, which takes more */
    for (int i = 0; i < 100; i++) {
        raise(SIGUSR1);
    }
    return handled == 100 ? 5 : 1;
}

static int in_shared_memory(void *ignored)
{
    void *p = NULL;
    (void)ignored;
    (void)cudaMalloc(&p, MIB); /* refused: the driver knows its process */
    syscall(SYS_exit, 7);
    return 0;
}

static int clone_vm(void)
{
    enum { STACK = 1 << 20 };
    char *stack = malloc(STACK);
    int status = 0;
    take(MIB);
    EXPECT(stack);
    pid_t child = clone(in_shared_memory, stack + STACK, CLONE_VM | SIGCHLD, NULL);
    EXPECT(child > 0 && waitpid(child, &status, 0) == child);
    return WEXITSTATUS(status);
}

static int raw_fork(void)
{
    int status = 0;
    take(MIB);
    pid_t child = (pid_t)syscall(SYS_fork);
    if (child == 0) {
        syscall(SYS_exit_group, 4);
    }
    EXPECT(waitpid(child, &status, 0) == child);
    return WEXITSTATUS(status);
}

static int no_descriptors(void)
{
    take(MIB);
    for (int fd = 0; fd < 1024; fd++) {
        close(fd);
    }
    take(MIB);
    return 5;
}

static void *small_thread(void *ignored)
{
    for (int i = 0; i < 100; i++) {
        EXPECT(cudaFree(take((size_t)(1 + i) * 512)) == 0);
    }
    return ignored;
}

static int small_stack(void)
{
    pthread_attr_t a;
    pthread_t t;
    EXPECT(pthread_attr_init(&a) == 0 && pthread_attr_setstacksize(&a, 16384) == 0);
    EXPECT(pthread_create(&t, &a, small_thread, NULL) == 0 && pthread_join(t, NULL) == 0);
    take(MIB);
    return 5;
}

static int limited_stack(void)
{
    const struct rlimit small = {65536, 65536};
    take(MIB);
    EXPECT(setrlimit(RLIMIT_STACK, &small) == 0);
    take(MIB);
    return 5;
}

static int limited_files(void)
{
    const struct rlimit small = {4096, 4096};
    EXPECT(setrlimit(RLIMIT_FSIZE, &small) == 0);
    for (int i = 0; i < 2000; i++) {
        take(4096);
    }
    return 5;
}

/* All signals are blocked; those that came are still there at the end. */
static int blocked(void)
{
    sigset_t all, pending;
    take(MIB);
    sigfillset(&all);
    EXPECT(sigprocmask(SIG_BLOCK, &all, NULL) == 0);
    EXPECT(raise(SIGTERM) == 0);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    EXPECT(sigpending(&pending) == 0);
    return sigismember(&pending, SIGTERM) ? 8 : 1;
}

static int ignored(void)
{
    signal(SIGUSR2, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    take(MIB);
    raise(SIGUSR2);
    raise(SIGTERM);
    return 5;
}

/* The same process, again and again another program. */
static int exec_loop(void)
{
    const char *left = getenv("EXECS_LEFT");
    int n = left ? atoi(left) : 20;
    char text[16];
    take(MIB);
    if (n == 0) {
        return 5;
    }
    snprintf(text, sizeof text, "%d", n - 1);
    EXPECT(setenv("EXECS_LEFT", text, 1) == 0);
    execl("/proc/self/exe", self, "exec", (char *)NULL);
    return 1;
}

static int many_out_of_memory(void)
{
    for (int i = 0; i < 4; i++) {
        if (fork() == 0) {
            void *p = NULL;
            for (int k = 0; k < 100; k++) {
                EXPECT(cudaMalloc(&p, (size_t)1 << 50) != 0);
            }
            exit(0);
        }
    }
    while (wait(NULL) > 0) {
    }
    return 5;
}

/* NOLINTNEXTLINE(misc-no-recursion): a deep stack is what this is about */
static int deeper(volatile int n)
{
    if (n == 0) {
        take(MIB);
        return 5;
    }
    return deeper(n - 1) + (n - n);
}

static int deep(void)
{
    return deeper(50000);
}

static int foreign(void)
{
    void *p = NULL, *q = take(MIB);
    int codes[] = {cudaFree((void *)0x1234),
                   cudaFree(NULL),
                   cudaFree(q),
                   cudaFree(q),
                   cudaMalloc(&p, 0),
                   cudaMalloc(&p, SIZE_MAX),
                   cudaMalloc(&p, SIZE_MAX / 2 + 1)};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        printf("%d\n", codes[i]);
    }
    return 5;
}

static void *last_thread(void *ignored)
{
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    take(MIB);
    puts("the last one");
    return ignored;
}

static int first_ends(void)
{
    pthread_t t;
    take(MIB);
    EXPECT(pthread_create(&t, NULL, last_thread, NULL) == 0);
    pthread_exit(NULL);
}

static int first_ends_alone(void)
{
    take(MIB);
    pthread_exit(NULL);
}

static int bare_exit(void)
{
    take(MIB);
    syscall(SYS_exit, 7);
    return 5;
}

static int cleared_environment(void)
{
    EXPECT(clearenv() == 0);
    take(MIB);
    return 5;
}

static int terminated_at_the_end(void)
{
    take(MIB);
    raise(SIGTERM);
    return 5;
}

static int terminated_at_a_quick_end(void)
{
    take(MIB);
    raise(SIGTERM);
    _exit(5);
}

#define WORDS(...)                                                                                 \
    (char *const *)(uintptr_t)(const char *const[])                                                \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static int terminated_at_execv(void)
{
    take(MIB);
    raise(SIGTERM);
    return execv("/bin/echo", WORDS("echo", "goes on"));
}

static int terminated_at_execvp(void)
{
    take(MIB);
    raise(SIGTERM);
    return execvp("echo", WORDS("echo", "goes on"));
}

static int terminated_at_execlp(void)
{
    take(MIB);
    raise(SIGTERM);
    return execlp("echo", "echo", "goes on", NULL);
}

static int execs_itself(void)
{
    take(MIB);
    char *const *env = WORDS("A=x y");
    for (int i = 0; i < 6; i++) {
        pid_t child = i % 2 ? vfork() : fork();
        if (child == 0) {
            i == 0   ? execl("/bin/sh", "sh", "-c", "echo $0 $1 $A", "0", "one", (char *)NULL)
            : i == 1 ? execle("/usr/bin/env", "env", (char *)NULL, env)
            : i == 2 ? execlp("sh", "sh", "-c", "echo $0 $#", "2", "3", (char *)NULL)
            : i == 3 ? execvpe("env", WORDS("env"), env)
            : i == 4 ? execve("/usr/bin/env", WORDS("env"), env)
                     : execl("/nonexistent", "none", (char *)NULL);
            _exit(i);
        }
        int status = 0;
        EXPECT(waitpid(child, &status, 0) == child);
        printf("%d\n", status);
        fflush(stdout);
    }
    return execlp("echo", "echo", "last", (char *)NULL);
}

static const struct {
    const char *name;
    int (*run)(void);
} modes[] = {{"handler", handler},
             {"terminated-at-execv", terminated_at_execv},
             {"terminated-at-execvp", terminated_at_execvp},
             {"terminated-at-execlp", terminated_at_execlp},
             {"execs", execs_itself},
             {"bare-exit", bare_exit},
             {"clone-vm", clone_vm},
             {"raw-fork", raw_fork},
             {"no-descriptors", no_descriptors},
             {"small-stack", small_stack},
             {"limited-stack", limited_stack},
             {"limited-files", limited_files},
             {"blocked", blocked},
             {"ignored", ignored},
             {"exec", exec_loop},
             {"many-oom", many_out_of_memory},
             {"deep", deep},
             {"foreign", foreign},
             {"first-ends", first_ends},
             {"first-ends-alone", first_ends_alone},
             {"cleared-environment", cleared_environment},
             {"terminated", terminated_at_the_end},
             {"terminated-quick", terminated_at_a_quick_end}};

int main(int argc, char **argv)
{
    self = argv[0];
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(modes[i].name, argv[1]) == 0) {
            return modes[i].run();
        }
    }
    for (size_t i = 0; argc == 1 && i < sizeof modes / sizeof modes[0]; i++) {
        puts(modes[i].name);
    }
    return 2;
}
