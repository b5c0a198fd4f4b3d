/* SPDX-License-Identifier: MIT */
/* A program at the C door that does one odd thing, named by its first argument; tests/live/run-live
 * looks at what comes of it. Exit 0 when all was as it should be, else a line says what was not. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "door.h"

static const char *file; /* the second argument */

static void basic(void)
{
    int64_t value = -1;
    void *p = memtool_malloc(1000, 0, NULL);
    EXPECT(p);
    EXPECT(!memtool_malloc(0, 0, NULL));
    EXPECT(!memtool_malloc(-1, 0, NULL));
    EXPECT(strstr(memtool_last_error(), "negative"));
    EXPECT(!memtool_malloc(1000, 7, NULL));
    EXPECT(strstr(memtool_last_error(), "no CUDA device 7"));
    memtool_record_stream(p, (void *)0x10);
    EXPECT(memtool_stat(0, "allocated_bytes.all.current", &value) == 0 && value == 1024);
    EXPECT(memtool_stat(0, "nonsense", &value) == -1);
    memtool_free(p, 1000, 0, NULL);
    memtool_free(NULL, 0, 0, NULL);
    memtool_free((void *)0x1234, 0, 0, NULL);
    EXPECT(strstr(memtool_last_error(), "0x1234 is not the start of a block"));
    void *q = memtool_pool_malloc(2 << 20, 0, NULL);
    EXPECT(q);
    memtool_pool_free(q, 2 << 20, 0, NULL);
    memtool_empty_cache();
    EXPECT(memtool_stat(0, "reserved_bytes.all.current", &value) == 0 && value == 0);
    memtool_set_memory_fraction(0.001, 0);
    EXPECT(!memtool_malloc(900 << 20, 0, NULL));
    EXPECT(strstr(memtool_last_error(), "limit"));
    EXPECT(memtool_record("nonsense:1") == -1);
    EXPECT(memtool_record("") == 0);
    EXPECT(memtool_malloc(1000, 0, NULL));
    EXPECT(memtool_dump(file) == 0);
    EXPECT(memtool_record(NULL) == 0);
    EXPECT(memtool_dump("/nonexistent/x") == -1);
}

static void refused(void)
{
    EXPECT(!memtool_malloc(1000, 0, NULL));
    puts(memtool_last_error());
}

static void use(void)
{
    void *p = memtool_malloc(3 << 20, 0, NULL);
    EXPECT(p);
    memtool_free(p, 0, 0, NULL);
    EXPECT(memtool_malloc(1000, 0, NULL));
}

static void out_of_memory(void)
{
    EXPECT(memtool_malloc(1000, 0, NULL));
    EXPECT(!memtool_malloc((ssize_t)1 << 40, 0, NULL));
    puts(memtool_last_error());
}

/* Whether a file came within five seconds. */
static int came(const char *path)
{
    const struct timespec pause = {0, 10000000};
    for (int i = 0; i < 500; i++) {
        if (access(path, F_OK) == 0) {
            return 1;
        }
        nanosleep(&pause, NULL);
    }
    return 0;
}

static void on_signal(void)
{
    EXPECT(memtool_malloc(1000, 0, NULL));
    raise(SIGUSR2);
    EXPECT(came(file));
}

static void every(void)
{
    EXPECT(memtool_malloc(1000, 0, NULL));
    EXPECT(came(file));
    EXPECT(unlink(file) == 0);
    EXPECT(came(file));
}

static void forks(void)
{
    void *p = memtool_malloc(1000, 0, NULL);
    EXPECT(p);
    pid_t child = fork();
    if (child == 0) {
        EXPECT(!memtool_malloc(1000, 0, NULL));
        EXPECT(strstr(memtool_last_error(), "a forked process cannot use the CUDA of its parent"));
        memtool_free(p, 1000, 0, NULL);
        memtool_empty_cache();
        exit(0); /* with handlers: no snapshot may come of it */
    }
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT(access(file, F_OK) != 0);
    EXPECT(memtool_malloc(1000, 0, NULL));
}

static void frees_after_the_driver(void)
{
    void (*shut_down)(void);
    void *p = memtool_malloc(30 << 20, 0, NULL);
    EXPECT(p);
    void *fake = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    EXPECT(fake);
    void *function = dlsym(fake, "fake_cuda_shut_down");
    EXPECT(function);
    memcpy(&shut_down, &function, sizeof function);
    shut_down();
    memtool_free(p, 0, 0, NULL);
    memtool_empty_cache();
    EXPECT(!memtool_malloc(1000 << 20, 0, NULL));
    EXPECT(strstr(memtool_last_error(), "shutting down"));
}

static void *churn(void *ctx)
{
    (void)ctx;
    for (ssize_t i = 1;; i++) {
        memtool_free(memtool_malloc(i % 3000 * 1000, 0, NULL), 0, 0, NULL);
    }
    return NULL;
}

/* Writes one snapshot after the other until it is killed. */
static void dumps_forever(void)
{
    pthread_t thread;
    EXPECT(memtool_record("max_entries:20000,stacks:c") == 0);
    EXPECT(pthread_create(&thread, NULL, churn, NULL) == 0);
    puts("begun");
    fflush(stdout);
    for (;;) {
        EXPECT(memtool_dump(file) == 0);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"basic", basic},
                 {"refused", refused},
                 {"use", use},
                 {"oom", out_of_memory},
                 {"signal", on_signal},
                 {"every", every},
                 {"fork", forks},
                 {"late", frees_after_the_driver},
                 {"forever", dumps_forever}};
    file = argc > 2 ? argv[2] : NULL;
    for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(argv[1], parts[i].name) == 0) {
            parts[i].run();
            return 0;
        }
    }
    return 2;
}
