/* SPDX-License-Identifier: MIT */
/*
 * A CUDA program that names its ranges by NVTX, with the client's side of the interface in small:
 * as NVTX does, it loads the library that NVTX_INJECTION64_PATH names and lends it the tables of
 * its functions. Prints what a call answered wrong; exit 0 when nothing did.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#include "cuda_program.h"

/* ---- NVTX's side: the layouts of nvtxTypes.h and nvToolsExt.h ---- */

typedef void (*function)(void);

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

static struct {
    function invalid; /* number 0 */
    void (*mark_ex)(const struct attributes *);
    void (*mark_a)(const char *);
    void (*mark_w)(const wchar_t *);
    uint64_t (*start_ex)(const struct attributes *);
    uint64_t (*start_a)(const char *);
    uint64_t (*start_w)(const wchar_t *);
    void (*end)(uint64_t);
    int (*push_ex)(const struct attributes *);
    int (*push_a)(const char *);
    int (*push_w)(const wchar_t *);
    int (*pop)(void);
    function names[4];
} core;

static struct {
    function invalid;
    void (*mark)(void *, const struct attributes *);
    uint64_t (*start)(void *, const struct attributes *);
    void (*end)(void *, uint64_t);
    int (*push)(void *, const struct attributes *);
    int (*pop)(void *);
    function others[4];
    void *(*register_a)(void *, const char *);
    void *(*register_w)(void *, const wchar_t *);
    void *(*create_a)(const char *);
    void *(*create_w)(const wchar_t *);
    function rest[2];
} core2;

enum { N_CORE = sizeof core / sizeof(function), N_CORE2 = sizeof core2 / sizeof(function) };

static function *core_table[N_CORE + 1], *core2_table[N_CORE2 + 1];

static int get_table(int module, function ***table, unsigned *n)
{
    if (module != 1 && module != 5) {
        return 0;
    }
    *table = module == 1 ? core_table : core2_table;
    *n = module == 1 ? N_CORE : N_CORE2;
    return 1;
}

static const void *export_table(uint32_t id)
{
    static const struct {
        size_t size;
        int (*get)(int, function ***, unsigned *);
    } callbacks = {sizeof callbacks, get_table};
    return id == 1 ? &callbacks : NULL; /* an older NVTX: no information on versions */
}

static void *library;

static void load(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*begin)(const void *(*)(uint32_t));
    for (unsigned i = 1; i < N_CORE; i++) {
        core_table[i] = (function *)&core + i;
    }
    for (unsigned i = 1; i < N_CORE2; i++) {
        core2_table[i] = (function *)&core2 + i;
    }
    *(void **)&begin = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
    EXPECT(begin && begin(NULL) == 0 && begin(export_table) == 1);
}

/* ---- the program ---- */

static struct attributes with(int type, const void *message)
{
    return (struct attributes){.version = 3, .size = 48, .message_type = type, .message = message};
}

static uint64_t across;

static void *other_thread(void *ignored)
{
    EXPECT(core.pop() < 0); /* the main thread's ranges are not this one's */
    EXPECT(core.push_a("of a thread") == 0 && core.pop() == 0);
    core.end(across);
    return ignored;
}

static void texts(void)
{
    struct attributes a = with(2, L"caf\u00e9 \U0001F600");
    EXPECT(core.push_w(L"wide \u2192") == 0 && core.pop() == 0);
    EXPECT(core.push_ex(&a) == 0 && core.pop() == 0);
    const wchar_t bad[] = {L'b', (wchar_t)0xd800, (wchar_t)0x110000, 0};
    EXPECT(core.push_w(bad) == 0 && core.pop() == 0);
    EXPECT(core.push_a("caf\xe9 \xf0\x9f\x98") == 0 && core.pop() == 0); /* no UTF-8 */
    EXPECT(core.push_a(NULL) == 0 && core.pop() == 0);
    EXPECT(core.push_ex(NULL) == 0 && core.pop() == 0);
    EXPECT(core.push_a(
               "a name that is longer than the fifty bytes of it th\u00e9 snapshot keeps") == 0 &&
           core.pop() == 0);
}

static void domains(void)
{
    void *d = core2.create_a("library"), *e = core2.create_w(L"another");
    void *name = core2.register_a(d, "registered"), *wide = core2.register_w(d, L"r\u00e9gistered");
    struct attributes a = with(3, name), b = with(3, wide), c = with(1, "plain");
    struct attributes none = with(3, (void *)0x7fffffff), old = {.version = 1, .size = 8};
    EXPECT(d && e && d != e && name && wide != name && core2.register_a(d, "registered") == name);
    EXPECT(core2.push(d, &a) == 0 && core2.push(e, &c) == 0 && core2.push(d, &b) == 1);
    EXPECT(core2.pop(e) == 0 && core2.pop(e) < 0); /* not the newest: that is another domain's */
    EXPECT(core2.pop(d) == 1 && core2.pop(d) == 0 && core2.pop(d) < 0);
    EXPECT(core2.push(d, &none) == 0 && core2.pop(d) == 0);
    EXPECT(core2.push(d, &old) == 0 && core2.pop(d) == 0);
    core2.end(d, core2.start(d, &c));
    core2.mark(d, &a);
}

static void nested(void)
{
    for (int i = 0; i < 40; i++) {
        EXPECT(core.push_a("deep") == i);
    }
    for (int i = 39; i >= 0; i--) {
        EXPECT(core.pop() == i);
    }
    EXPECT(core.pop() < 0);
}

/* The child of a process with CUDA, such as a loader of data, names ranges too; nobody records
 * them. */
static void in_child(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        const struct attributes a = with(3, core2.register_a(NULL, "of a child"));
        EXPECT(core.push_ex(&a) == 0 && core.pop() == 0);
        core.end(core.start_ex(&a));
        _exit(7);
    }
    EXPECT(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
}

/* A process that names ranges and leaves CUDA to its children: they must find it usable, and theirs
 * is what is recorded. */
static void leave_to_child(void)
{
    int status = -1;
    EXPECT(core.push_a("before the fork") == 0);
    pid_t child = fork();
    if (child == 0) {
        take(MIB);
        EXPECT(core.push_a("step 1") == 1 && core.pop() == 1 && core.pop() == 0);
        exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    EXPECT(core.pop() == 0);
}

/* The library as an allocator, which records by MEMTOOL_RECORD from its first request on. */
static void allocator(const char *file)
{
    void *(*take_memory)(ssize_t, int, void *);
    int (*dump)(const char *);
    *(void **)&take_memory = dlsym(library, "memtool_malloc");
    *(void **)&dump = dlsym(library, "memtool_dump");
    EXPECT(core.push_a("too early") == 0);
    EXPECT(take_memory && take_memory(1 << 20, 0, NULL));
    EXPECT(core.push_a("step 1") == 1 && core.pop() == 1);
    EXPECT(core.pop() == 0); /* without a beginning there is no end */
    EXPECT(dump && dump(file) == 0);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    load();
    if (argc > 2 && strcmp(argv[1], "allocator") == 0) {
        allocator(argv[2]);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        leave_to_child();
        return 0;
    }
    EXPECT(core.push_a("before CUDA") == 0);
    EXPECT(core.push_a("step 1") == 1);
    if (argc > 1 && strcmp(argv[1], "only") == 0) {
        return 0;
    }
    take(MIB);
    across = core.start_a("across threads");
    EXPECT(across != 0);
    EXPECT(pthread_create(&thread, NULL, other_thread, NULL) == 0);
    pthread_join(thread, NULL);
    core.end(across);
    core.end(0);
    take(MIB);
    EXPECT(core.pop() == 1 && core.pop() == 0 && core.pop() < 0);
    core.mark_a("a moment");
    core.mark_w(L"another");
    core.end(core.start_w(L"started"));
    texts();
    domains();
    nested();
    in_child();
    take(MIB);
    EXPECT(core.push_a("open at the end") == 0);
    return 0;
}
