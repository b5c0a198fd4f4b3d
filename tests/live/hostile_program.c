/* SPDX-License-Identifier: MIT */
/* A program that treats the C door badly in one way, named by its first argument; the second is the
 * name of the snapshot. tests/live/run-hostile looks at what comes of it. Exit 0 when the program
 * was not disturbed, else a line says by what. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "door.h"

static const char *file, *library;
static const ssize_t mib = 1 << 20;
static _Atomic bool done;

static void rest(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    while (nanosleep(&t, &t) != 0) {
    }
}

/* Until told to end. */
static void *churn(void *ctx)
{
    void *stream = ctx;
    for (ssize_t i = 1; !done; i++) {
        void *p = memtool_malloc(i % 3000 * 1000 + 1, 0, stream);
        EXPECT(p);
        if (i % 5 == 0) {
            memtool_record_stream(p, (void *)0x99);
        }
        memtool_free(p, 0, 0, stream);
    }
    return NULL;
}

enum { CHURNERS = 3 };
static pthread_t churners[CHURNERS];

static void begin_churn(void)
{
    for (uintptr_t i = 0; i < CHURNERS; i++) {
        EXPECT(pthread_create(&churners[i], NULL, churn, (void *)(i * 0x10)) == 0);
    }
}

static void end_churn(void)
{
    done = true;
    for (int i = 0; i < CHURNERS; i++) {
        pthread_join(churners[i], NULL);
    }
}

/* ---- sizes and addresses ---- */

/* Every power of two and its neighbours: served or refused, in every setting, and the counters end
 * where they began. */
static void sizes(void)
{
    int64_t value = -1;
    for (int k = 0; k < 63; k++) {
        for (int d = -1; d <= 1; d++) {
            ssize_t size = ((ssize_t)1 << k) + d;
            void *p = memtool_malloc(size, 0, NULL);
            EXPECT(p || size == 0 || size > 100 * mib);
            memtool_free(p, size, 0, NULL);
        }
    }
    EXPECT(!memtool_malloc(INT64_MAX, 0, NULL));
    EXPECT(strstr(memtool_last_error(), "more than 1EB"));
    EXPECT(!memtool_malloc(INT64_MIN, 0, NULL));
    EXPECT(memtool_stat(0, "allocated_bytes.all.current", &value) == 0 && value == 0);
    memtool_empty_cache();
    EXPECT(memtool_stat(0, "reserved_bytes.all.current", &value) == 0 && value == 0);
}

static void mistakes(void)
{
    int64_t value = -1;
    char *p = memtool_malloc(3 * mib, 0, NULL), *q = memtool_malloc(1000, 0, NULL);
    EXPECT(p && q);
    memtool_free(p + 1, 0, 0, NULL);
    memtool_free(p + 512, 0, 0, NULL);
    memtool_free(p - 512, 0, 0, NULL);
    memtool_free(&value, 0, 0, NULL);
    memtool_free((void *)UINTPTR_MAX, -1, -1, (void *)UINTPTR_MAX);
    EXPECT(strstr(memtool_last_error(), "is not the start of a block"));
    memtool_free(q, 0, 77, NULL); /* a wrong device is only a hint */
    memtool_free(q, 0, 0, NULL);
    memtool_free(q, 0, INT32_MIN, NULL);
    EXPECT(memtool_stat(0, "allocation.all.current", &value) == 0 && value == 1);
    memtool_record_stream(q, NULL);
    memtool_record_stream(p + 7, NULL);
    memtool_pool_free(p, 0, 0, NULL);
    memtool_pool_free(p, 0, 0, NULL);
    EXPECT(memtool_stat(0, "allocation.all.current", &value) == 0 && value == 0);
    EXPECT(!memtool_malloc(1, INT32_MAX, NULL) && !memtool_malloc(1, INT32_MIN, NULL));
    memtool_set_memory_fraction(-1, 0);
    memtool_set_memory_fraction(0.0 / 0.0, 0);
    memtool_set_memory_fraction(0.5, -7);
    EXPECT(memtool_stat(-1, "num_ooms", &value) == -1 && memtool_stat(0, NULL, &value) == -1);
    EXPECT(memtool_stat(0, "num_ooms", NULL) == -1);
    memtool_each_stat(0, NULL, NULL);
    memtool_annotate_begin(NULL, 0);
    memtool_annotate_end("never begun", -5);
    EXPECT(memtool_dump("") == -1);
    memtool_end_pool(0, (struct memtool_pool_id){9, 9});
    memtool_end_pool(-1, (struct memtool_pool_id){9, 9});
    memtool_release_pool(100, (struct memtool_pool_id){9, 9});
    memtool_begin_pool(-1, (struct memtool_pool_id){9, 9}, NULL);
    EXPECT(strstr(memtool_last_error(), "no CUDA device -1"));
    EXPECT(memtool_malloc(1000, 0, NULL));
}

static void *free_it(void *p)
{
    memtool_free(p, 0, 0, (void *)0x1234);
    return NULL;
}

/* Memory is freed by another thread that names another stream: it goes back to its own stream. */
static void elsewhere(void)
{
    pthread_t thread;
    void *p = memtool_malloc(30 * mib, 0, (void *)0x70);
    EXPECT(pthread_create(&thread, NULL, free_it, p) == 0 && pthread_join(thread, NULL) == 0);
    EXPECT(memtool_malloc(30 * mib, 0, (void *)0x1234) != p);
    EXPECT(memtool_malloc(30 * mib, 0, (void *)0x70) == p);
}

/* What other streams still use is kept from all until they are done. */
static void streams(void)
{
    void (*hold)(bool);
    void *p = memtool_malloc(30 * mib, 0, NULL);
    find_in_driver("fake_cuda_hold_events", &hold);
    hold(true);
    memtool_record_stream(p, (void *)0x70);
    memtool_free(p, 0, 0, NULL);
    EXPECT(memtool_malloc(30 * mib, 0, NULL) != p);
    hold(false);
    EXPECT(memtool_malloc(30 * mib, 0, NULL) == p);
}

/* Bad settings: no request is served, and the reason is given. */
static void refused(void)
{
    EXPECT(!memtool_malloc(1000, 0, NULL) && memtool_last_error()[0]);
    puts(memtool_last_error());
}

static void served_or_refused(void)
{
    void *p = memtool_malloc(1000, 0, NULL);
    EXPECT(p || strstr(memtool_last_error(), "(in MEMTOOL_ALLOC_CONF)"));
    memtool_free(p, 0, 0, NULL);
}

/* ---- the ends of a process ---- */

static void *exit_here(void *ctx)
{
    rest(20);
    exit(0);
    return ctx;
}

static void exit_in_a_thread(void)
{
    pthread_t thread;
    EXPECT(memtool_malloc(1000, 0, NULL)); /* else it may end before there is anything to write */
    begin_churn();
    EXPECT(pthread_create(&thread, NULL, exit_here, NULL) == 0);
    end_churn();
}

static void *one_more(void *ctx)
{
    memtool_free(memtool_malloc(1000, 0, NULL), 0, 0, NULL);
    return ctx;
}

/* A child of one thread among many can end as it likes, and has no CUDA. */
static void forks(void)
{
    pthread_t thread;
    EXPECT(memtool_malloc(1000, 0, NULL));
    begin_churn();
    for (int i = 0; i < 25; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            EXPECT(!memtool_malloc(1000, 0, NULL) && !memtool_malloc(1000, 0, (void *)0x10));
            memtool_empty_cache();
            EXPECT(memtool_dump(file) == 0 && memtool_dump(file) == 0);
            EXPECT(memtool_record("at_exit:False") == 0 && memtool_record(NULL) == 0);
            EXPECT(pthread_create(&thread, NULL, one_more, NULL) == 0);
            EXPECT(pthread_join(thread, NULL) == 0);
            exit(i % 2);
        }
        EXPECT(waitpid(child, &status, 0) == child);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == i % 2);
    }
    end_churn();
}

static void end_now(int number)
{
    (void)number;
    exit(0);
}

/* The program ends in a handler, wherever it was: in the library too, in the middle of a dump. */
static void exit_in_a_handler(void)
{
    const struct timeval soon = {0, 30000};
    const struct itimerval timer = {.it_value = soon};
    EXPECT(memtool_malloc(1000, 0, NULL));
    signal(SIGALRM, end_now);
    EXPECT(setitimer(ITIMER_REAL, &timer, NULL) == 0);
    for (;;) {
        memtool_dump(file);
    }
}

static void ends_by(int number)
{
    int status = 0;
    EXPECT(memtool_malloc(1000, 0, NULL));
    pid_t child = fork();
    if (child == 0) {
        for (;;) {
            pause();
        }
    }
    rest(50);
    EXPECT(kill(child, number) == 0 && waitpid(child, &status, 0) == child);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == number);
    raise(number);
    rest(20000);
}

static void ends_by_term(void)
{
    ends_by(SIGTERM);
}

static void ends_by_quit(void)
{
    const struct rlimit none = {0, 0}; /* no core file */
    EXPECT(setrlimit(RLIMIT_CORE, &none) == 0);
    ends_by(SIGQUIT);
}

/* ---- signals ---- */

static bool came(const char *path)
{
    for (int i = 0; i < 500 && access(path, F_OK) != 0; i++) {
        rest(10);
    }
    return access(path, F_OK) == 0;
}

/* Ten thousand signals are not ten thousand snapshots. */
static void storm(void)
{
    char last[300];
    EXPECT(memtool_malloc(1000, 0, NULL));
    struct sigaction action;
    EXPECT(sigaction(SIGUSR2, NULL, &action) == 0 && (action.sa_flags & SA_ONSTACK));
    begin_churn();
    for (int i = 0; i < 10000; i++) {
        EXPECT(kill(getpid(), SIGUSR2) == 0);
    }
    end_churn();
    EXPECT(came(file));
    rest(300); /* nothing is left to be done */
    snprintf(last, sizeof last, "%.*s.signal.%d.pickle", (int)strlen(file) - 7, file, 2000);
    EXPECT(access(last, F_OK) != 0);
}

static _Atomic int handled;

static void own_handler(int number)
{
    (void)number;
    handled++;
}

static void with_own_handler(void)
{
    signal(SIGUSR2, own_handler);
    EXPECT(memtool_malloc(1000, 0, NULL));
    EXPECT(raise(SIGUSR2) == 0 && handled == 1);
    rest(200);
    EXPECT(access(file, F_OK) != 0);
}

/* A signal that means a broken program still ends it. */
static void ends_by_abort(void)
{
    EXPECT(memtool_malloc(1000, 0, NULL));
    abort();
}

static void ends_by__exit(void)
{
    EXPECT(memtool_malloc(1000, 0, NULL));
    _exit(6);
}

/* The settings come late. */
static void ends_by_segv(void)
{
    EXPECT(memtool_malloc(1000, 0, NULL) && memtool_record("at_exit:True,dump:segv.pickle") == 0);
    EXPECT(memtool_malloc(1000, 0, NULL));
    raise(SIGSEGV);
}

static void fault(void)
{
    const struct rlimit none = {0, 0};
    EXPECT(setrlimit(RLIMIT_CORE, &none) == 0);
    EXPECT(memtool_malloc(1000, 0, NULL));
    alarm(10);
    *(volatile int *)memtool_malloc(1000, 0, NULL) = 1; /* no memory of this process */
}

static void use_for_2_5_seconds(void)
{
    EXPECT(memtool_malloc(1000, 0, NULL));
    rest(2500);
}

/* ---- files ---- */

static void too_large_a_file(void)
{
    const struct rlimit small = {4096, 4096};
    EXPECT(memtool_record("max_entries:10000,stacks:c") == 0);
    for (int i = 0; i < 5000; i++) {
        memtool_free(memtool_malloc(1000, 0, NULL), 0, 0, NULL);
    }
    EXPECT(setrlimit(RLIMIT_FSIZE, &small) == 0);
    EXPECT(memtool_dump(file) == -1);
    EXPECT(strstr(memtool_last_error(), "File too large"));
    EXPECT(access(file, F_OK) != 0);
    signal(SIGXFSZ, own_handler); /* the program's own writing is as ever */
    FILE *f = fopen("own", "w");
    EXPECT(f && fseek(f, 5000, SEEK_SET) == 0);
    EXPECT(fputc('x', f) == 'x' && fclose(f) != 0 && errno == EFBIG && handled == 1);
}

/* What is no file is not replaced by one: a pipe, a device, a folder. */
static void no_file(void)
{
    struct stat st;
    EXPECT(mkfifo(file, 0600) == 0);
    EXPECT(memtool_malloc(1000, 0, NULL));
    EXPECT(memtool_dump(file) == -1);
    EXPECT(strstr(memtool_last_error(), "not a regular file"));
    EXPECT(stat(file, &st) == 0 && S_ISFIFO(st.st_mode));
    EXPECT(unlink(file) == 0 && mkdir(file, 0700) == 0 && memtool_dump(file) == -1);
    EXPECT(rmdir(file) == 0);
}

static void too_long_a_ring(void)
{
    const struct rlimit limit = {(rlim_t)4 << 30, (rlim_t)4 << 30};
    EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
    EXPECT(memtool_record("max_entries:1073741824") == -1);
    EXPECT(strstr(memtool_last_error(), "34359738368 bytes for a ring of that length cannot be"));
    EXPECT(memtool_record("max_entries:1000000") == 0 && memtool_malloc(1000, 0, NULL));
}

static void refusals(void)
{
    EXPECT(memtool_malloc(1000, 0, NULL));
    for (int i = 0; i < 200; i++) {
        EXPECT(!memtool_malloc((ssize_t)1 << 40, 0, NULL));
        EXPECT(strstr(memtool_last_error(), "The snapshot is in "));
        EXPECT(i > 0 || unlink(file) == 0); /* the others write none: they come within a second */
    }
    EXPECT(access(file, F_OK) != 0);
    rest(2000);
    EXPECT(!memtool_malloc((ssize_t)1 << 40, 0, NULL) && access(file, F_OK) == 0);
}

static void refused_and_ended(void)
{
    EXPECT(memtool_malloc(1000, 0, NULL));
    EXPECT(!memtool_malloc((ssize_t)1 << 40, 0, NULL));
}

static void *dumps(void *ctx)
{
    for (int i = 0; i < 100000; i++) {
        EXPECT(memtool_dump(file) == 0);
        pthread_testcancel();
    }
    return ctx;
}

/* A thread that is cancelled while it writes takes no lock with it. */
static void cancelled(void)
{
    pthread_t thread;
    EXPECT(memtool_malloc(1000, 0, NULL));
    for (int i = 0; i < 20; i++) {
        void *result = NULL;
        EXPECT(pthread_create(&thread, NULL, dumps, NULL) == 0);
        rest(5 + i % 7);
        EXPECT(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
        EXPECT(result == PTHREAD_CANCELED);
    }
    alarm(20);
    EXPECT(memtool_dump(file) == 0);
}

/* ---- the library itself ---- */

static void *first_call(void *ctx)
{
    EXPECT(memtool_malloc(1000, 0, NULL));
    return ctx;
}

static pthread_t loader_thread;

static void in_constructor(void)
{
    EXPECT(pthread_create(&loader_thread, NULL, first_call, NULL) == 0);
    rest(200); /* it is on its way by now, and waits for the dynamic linker */
    EXPECT(memtool_record("stacks:c") == 0);
    EXPECT(memtool_malloc(1000, 0, NULL));
}

static void in_the_loader(void)
{
    char text[32];
    void (*function)(void) = in_constructor;
    uintptr_t address;
    memcpy(&address, &function, sizeof address);
    snprintf(text, sizeof text, "%llx", (unsigned long long)address);
    alarm(20);
    EXPECT(setenv("CALL_IN_CONSTRUCTOR", text, 1) == 0);
    EXPECT(dlopen(library, RTLD_NOW));
    EXPECT(pthread_join(loader_thread, NULL) == 0);
}

typedef void *(*malloc_function)(ssize_t, int, void *);
typedef void (*free_function)(void *, ssize_t, int, void *);

/* A second copy under another name is an allocator of its own; neither takes the other's memory. */
static void another_copy(void)
{
    void *copy = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    EXPECT(copy);
    malloc_function take;
    free_function give;
    const char *(*why)(void);
    *(void **)&take = dlsym(copy, "memtool_malloc");
    *(void **)&give = dlsym(copy, "memtool_free");
    *(void **)&why = dlsym(copy, "memtool_last_error");
    EXPECT(take && give && take != memtool_malloc);
    void *ours = memtool_malloc(3 * mib, 0, NULL), *theirs = take(3 * mib, 0, NULL);
    EXPECT(ours && theirs && ours != theirs);
    memtool_free(theirs, 0, 0, NULL);
    EXPECT(strstr(memtool_last_error(), "is not the start of a block"));
    give(ours, 0, 0, NULL);
    EXPECT(strstr(why(), "is not the start of a block"));
    give(theirs, 0, 0, NULL);
    memtool_free(ours, 0, 0, NULL);
    EXPECT(dlclose(copy) == 0);
    rest(1200); /* its thread goes on */
    EXPECT(memtool_malloc(3 * mib, 0, NULL) == ours);
}

/* ---- how long it takes ---- */

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* A snapshot of the state alone, with 2,000 blocks: the best of many, for the machine has others to
 * serve. */
static void state_only(void)
{
    int64_t best = INT64_MAX;
    EXPECT(memtool_record("enabled:state,stacks:c") == 0);
    for (int i = 0; i < 2000; i++) {
        EXPECT(memtool_malloc(1 + i * 37 % 5000, 0, NULL));
    }
    for (int i = 0; i < 200; i++) {
        int64_t begin = now_us();
        EXPECT(memtool_dump(file) == 0);
        int64_t took = now_us() - begin;
        best = took < best ? took : best;
    }
    printf("a dump of the state: %lld us\n", (long long)best);
    EXPECT(best < 1000);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"sizes", sizes},
                 {"mistakes", mistakes},
                 {"elsewhere", elsewhere},
                 {"streams", streams},
                 {"refused", refused},
                 {"served-or-refused", served_or_refused},
                 {"refused-and-ended", refused_and_ended},
                 {"exit-in-a-thread", exit_in_a_thread},
                 {"forks", forks},
                 {"exit-in-a-handler", exit_in_a_handler},
                 {"abort", ends_by_abort},
                 {"_exit", ends_by__exit},
                 {"segv", ends_by_segv},
                 {"term", ends_by_term},
                 {"quit", ends_by_quit},
                 {"storm", storm},
                 {"own-handler", with_own_handler},
                 {"fault", fault},
                 {"2.5-seconds", use_for_2_5_seconds},
                 {"too-large", too_large_a_file},
                 {"no-file", no_file},
                 {"too-long", too_long_a_ring},
                 {"refusals", refusals},
                 {"cancelled", cancelled},
                 {"loader", in_the_loader},
                 {"copy", another_copy},
                 {"state-only", state_only}};
    file = argc > 2 ? argv[2] : NULL;
    library = argc > 3 ? argv[3] : NULL;
    for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(argv[1], parts[i].name) == 0) {
            parts[i].run();
            return 0;
        }
    }
    return 2;
}
