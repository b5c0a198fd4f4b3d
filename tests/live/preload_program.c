/* SPDX-License-Identifier: MIT */
/* A CUDA program that knows nothing of memtool and does one odd thing, named by its first argument;
 * tests/live/run-preload looks at what a preload writes down. It ends with 3 MiB allocated unless
 * said otherwise. Exit 0 when the program itself was not disturbed. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "allocator/device/cuda_driver.h"
#include "cuda_program.h"

static const char *mode = "";
static const char *file = "";
static void *early; /* allocated before main */

__attribute__((constructor)) static void before_main(void)
{
    const char *wanted = getenv("ALLOCATE_BEFORE_MAIN");
    if (wanted) {
        early = take(1 * MIB);
    }
}

static void basic(void)
{
    void *p = take(2 * MIB), *q = take(5 * MIB), *r = NULL;
    size_t pitch = 0;
    (void)p;
    EXPECT(cudaFree(q) == 0);
    EXPECT(cudaFree(NULL) == 0);
    EXPECT(cudaFree((void *)0x1234) != 0); /* refused, and nothing is lost by it */
    EXPECT(cudaMallocPitch(&r, &pitch, 500, 1024) == 0 && pitch == 512);
    EXPECT(cudaMallocAsync(&q, 512 * 1024, NULL) == 0);
    EXPECT(cudaMallocAsync(&r, 7 * MIB, NULL) == 0);
    EXPECT(cudaFreeAsync(r, NULL) == 0);
}

static void unwatched(void)
{
    void *p = NULL;
    EXPECT(cudaMallocUnwatched(&p, 3 * MIB) == 0);
}

static void constructor(void)
{
    EXPECT(early);
    take(2 * MIB);
}

static void *churn(void *ignored)
{
    for (int i = 0; i < 300; i++) {
        void *p = take((size_t)(1 + i % 7) * 4096), *pinned = NULL;
        EXPECT(cudaFree(p) == 0);
        EXPECT(i % 8 != 0 || (cudaHostAlloc(&pinned, 4096, 0) == 0 && cudaFreeHost(pinned) == 0));
    }
    take(512 * 1024);
    return ignored;
}

static void threads(void)
{
    pthread_t t[6];
    for (int i = 0; i < 6; i++) {
        EXPECT(pthread_create(&t[i], NULL, churn, NULL) == 0);
    }
    for (int i = 0; i < 6; i++) {
        pthread_join(t[i], NULL);
    }
}

/* The child of a process with CUDA has none, and its end is not the program's. */
static void forked(void)
{
    int status = -1;
    void *p = NULL;
    take(3 * MIB);
    pid_t child = fork();
    if (child == 0) {
        exit(cudaMalloc(&p, MIB) != 0 ? 7 : 1);
    }
    EXPECT(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
}

static void in_child(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        take(3 * MIB);
        exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

/* SIGTERM ends the child of a watched process too, though nobody is there to write a snapshot. */
static void terminated(void)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    int status = 0;
    take(3 * MIB);
    pid_t child = fork(), ended = 0;
    if (child == 0) {
        for (;;) {
            pause();
        }
    }
    EXPECT(kill(child, SIGUSR2) == 0 || child < 0); /* this one asks for a snapshot, if anything */
    EXPECT(kill(child, SIGTERM) == 0);
    for (int i = 0; i < 500 && ended == 0; i++) {
        nanosleep(&moment, NULL);
        ended = waitpid(child, &status, WNOHANG);
    }
    if (ended == 0) {
        kill(child, SIGKILL);
    }
    EXPECT(ended == child && WIFSIGNALED(status));
    EXPECT(WTERMSIG(status) == SIGTERM || !getenv("MEMTOOL_RECORD"));
}

static void free_early(void)
{
    cudaFree(early);
}

static void at_the_end(void)
{
    early = take(4 * MIB);
    atexit(free_early); /* registered later, so called before the snapshot of the end */
    take(3 * MIB);
}

static void lookups(void)
{
    int (*alloc)(uint64_t *, size_t);
    int (*async)(uint64_t *, size_t, void *);
    int (*proc)(const char *, void **, int, uint64_t, int *);
    uint64_t addr = 0;
    int status = -1;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    take(1 * MIB);
    *(void **)&alloc = dlsym(driver, "cuMemAlloc_v2");
    EXPECT(alloc && alloc(&addr, 1 * MIB) == 0);
    *(void **)&proc = dlsym(driver, "cuGetProcAddress_v2");
    EXPECT(proc && proc("cuGetProcAddress", (void **)&proc, 13000, 0, NULL) == 0);
    EXPECT(proc("cuMemAlloc", (void **)&alloc, 13000, 0, NULL) == 0);
    EXPECT(alloc(&addr, 512 * 1024) == 0);
    EXPECT(cudaGetDriverEntryPointByVersion("cuMemAlloc", (void **)&alloc, 13000, 0, NULL) == 0);
    EXPECT(alloc(&addr, 256 * 1024) == 0);
    EXPECT(cudaGetDriverEntryPointByVersion_ptsz("cuMemAllocAsync", (void **)&async, 13000, 0,
                                                 NULL) == 0);
    EXPECT(async(&addr, 256 * 1024, NULL) == 0);
    EXPECT(!getenv("MEMTOOL_PRELOAD") ||
           *(void **)&async == dlsym(RTLD_DEFAULT, "cuMemAllocAsync_ptsz"));
    /* the name of before 12.0, given out by a runtime for the newer form */
    EXPECT(proc("cuGetProcAddress", (void **)&proc, 11030, 0, &status) == 0);
    EXPECT(proc("cuMemAlloc", (void **)&alloc, 13000, 0, &status) == 0 && status == 0);
    EXPECT(!dlsym(driver, "cuMemAllocPitch_v2")); /* this driver has none */
    EXPECT(dlerror());
    EXPECT(dlsym(RTLD_DEFAULT, "cudaMalloc"));
    /* what stands behind this program, not behind memtool's library */
    EXPECT(!getenv("LD_PRELOAD") || dlsym(RTLD_NEXT, "memtool_malloc"));
}

static void pages(void)
{
    int (*create)(uint64_t *, size_t, const struct mt_cuda_memory_prop *, unsigned long long);
    int (*release)(uint64_t);
    int (*reserve)(uint64_t *, size_t, size_t, uint64_t, unsigned long long);
    int (*map)(uint64_t, size_t, size_t, uint64_t, unsigned long long);
    int (*unmap)(uint64_t, size_t);
    const struct mt_cuda_memory_prop prop = {.type = MT_CUDA_MEMORY_PINNED,
                                             .location = {MT_CUDA_LOCATION_DEVICE, 0}};
    uint64_t a = 0, b = 0, c = 0, range = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    take(1 * MIB);
    *(void **)&create = dlsym(driver, "cuMemCreate");
    *(void **)&release = dlsym(driver, "cuMemRelease");
    *(void **)&reserve = dlsym(driver, "cuMemAddressReserve");
    *(void **)&map = dlsym(driver, "cuMemMap");
    *(void **)&unmap = dlsym(driver, "cuMemUnmap");
    EXPECT(reserve(&range, 64 * MIB, 0, 0, 0) == 0);
    EXPECT(create(&a, 2 * MIB, &prop, 0) == 0 && create(&b, 4 * MIB, &prop, 0) == 0 &&
           create(&c, 6 * MIB, &prop, 0) == 0);
    EXPECT(map(range, 2 * MIB, 0, a, 0) == 0 && release(a) == 0);           /* mapped: held */
    EXPECT(map(range + 2 * MIB, 4 * MIB, 0, b, 0) == 0 && release(b) == 0); /* gone by the unmap */
    EXPECT(unmap(range + 2 * MIB, 4 * MIB) == 0);
    EXPECT(release(c) == 0); /* never mapped */
}

/* Pools, 3D memory and arrays: 3 MiB of them stay. */
static void shapes(void)
{
    static const int rgba8[5] = {8, 8, 8, 8, 1};
    struct pitched cube = {0};
    void *pool = NULL, *p = NULL, *array = NULL, *driver;
    int (*create_pool)(void **, const void *);
    int (*from_pool)(uint64_t *, size_t, void *, void *);
    int (*create_array)(void **, const void *);
    const int on_device_0[4] = {1, 0, 1, 0};
    const struct {
        size_t width, height;
        int format;
        unsigned channels;
    } plane = {1024, 64, 0x20, 4}; /* floats: 1 MiB */
    uint64_t addr = 0;
    EXPECT(cudaMalloc3D(&cube, (struct extent){500, 256, 4}) == 0 && cube.pitch == 512);
    EXPECT(cudaMallocArray(&array, rgba8, 256, 256, 0) == 0); /* 256 KiB */
    EXPECT(cudaMalloc3DArray(&p, rgba8, (struct extent){128, 128, 16}, 0) == 0);
    EXPECT(cudaFreeArray(p) == 0);
    EXPECT(cudaMalloc3DArray(&p, rgba8, (struct extent){1 << 20, 0, 0}, 0x40) == 0); /* sparse */
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&create_pool = dlsym(driver, "cuMemPoolCreate");
    *(void **)&from_pool = dlsym(driver, "cuMemAllocFromPoolAsync");
    *(void **)&create_array = dlsym(driver, "cuArrayCreate_v2");
    EXPECT(create_pool(&pool, on_device_0) == 0);
    EXPECT(cudaMallocFromPoolAsync(&p, 768 * 1024, pool, NULL) == 0);
    EXPECT(from_pool(&addr, 512 * 1024, pool, NULL) == 0);
    EXPECT(create_array(&array, &plane) == 0);
}

/* Pinned memory: 5 MiB and 64 KiB stay, besides 3 MiB of the device. */
static void host(void)
{
    static char page[65536];
    void *driver, *p = NULL;
    int (*alloc)(void **, size_t);
    take(3 * MIB);
    EXPECT(cudaHostAlloc(&p, 2 * MIB, 0) == 0 && p);
    EXPECT(cudaMallocHost(&p, 9 * MIB) == 0 && cudaFreeHost(p) == 0);
    EXPECT(cudaHostAlloc(&p, (size_t)1 << 50, 0) == 2); /* no reason for a snapshot */
    EXPECT(cudaHostRegister(page, sizeof page, 0) == 0);
    EXPECT(cudaHostUnregister(page) == 0);
    EXPECT(cudaHostRegister(page, sizeof page, 0) == 0);
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&alloc = dlsym(driver, "cuMemAllocHost_v2");
    EXPECT(alloc(&p, 3 * MIB) == 0);
}

/* Modules that are loaded lazily: 3 MiB of code stay, beside 3 MiB that were asked for. */
static void code(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *module = NULL, *other = NULL;
    int (*load)(void **, const void *), (*unload)(void *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    *(void **)&load = dlsym(driver, "cuModuleLoadData");
    *(void **)&unload = dlsym(driver, "cuModuleUnload");
    *(void **)&launch = dlsym(driver, "cuLaunchKernel");
    take(3 * MIB);
    EXPECT(load(&module, "image") == 0 && load(&other, "image") == 0 && unload(other) == 0);
    EXPECT(load(&other, NULL) != 0);
    for (int i = 0; i < 3; i++) {
        EXPECT(launch(module, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == 0);
    }
}

static void reset(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    const struct mt_cuda_memory_prop prop = {.type = MT_CUDA_MEMORY_PINNED,
                                             .location = {MT_CUDA_LOCATION_DEVICE, 0}};
    int (*create)(uint64_t *, size_t, const struct mt_cuda_memory_prop *, unsigned long long);
    uint64_t handle = 0;
    take(5 * MIB);
    *(void **)&create = dlsym(driver, "cuMemCreate");
    EXPECT(create(&handle, 2 * MIB, &prop, 0) == 0); /* belongs to no context */
    EXPECT(cudaDeviceReset() == 0);
    take(1 * MIB);
}

static void out_of_memory(void)
{
    void *p = NULL;
    take(3 * MIB);
    EXPECT(cudaMalloc(&p, (size_t)1 << 50) == 2);
}

static void wait_for_file(void)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    for (int i = 0; i < 1000 && access(file, F_OK) != 0; i++) {
        nanosleep(&moment, NULL);
    }
    EXPECT(access(file, F_OK) == 0);
}

static void asked(void)
{
    take(3 * MIB);
    raise(SIGUSR2);
    wait_for_file();
    _exit(0); /* no other snapshot */
}

static void told_to_end(void)
{
    take(3 * MIB);
    raise(SIGTERM);
    for (;;) {
        pause();
    }
}

static void *first_call(void *ignored)
{
    take(1 * MIB);
    return ignored;
}

static void in_constructor(void)
{
    take(2 * MIB);
}

/* A library's constructor takes memory while another thread's first call is under way. */
static void in_the_loader(void)
{
    const struct timespec moment = {.tv_nsec = 100000000};
    char text[32];
    void (*function)(void) = in_constructor;
    uintptr_t address;
    pthread_t thread;
    memcpy(&address, &function, sizeof address);
    snprintf(text, sizeof text, "%llx", (unsigned long long)address);
    EXPECT(setenv("CALL_IN_CONSTRUCTOR", text, 1) == 0);
    EXPECT(pthread_create(&thread, NULL, first_call, NULL) == 0);
    nanosleep(&moment, NULL);
    EXPECT(dlopen(file, RTLD_NOW));
    EXPECT(pthread_join(thread, NULL) == 0);
}

/* A library is opened, takes memory and is closed, often, with frees after its end and in between,
 * and a last piece that stays. */
static void closed(void)
{
    enum { TIMES = 50 };
    void *kept[TIMES] = {NULL};
    for (int i = 0; i <= TIMES; i++) {
        int (*user)(int (*)(void **, size_t), void **, size_t);
        void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        void *function = library ? dlsym(library, "user_takes") : NULL;
        void *p;
        EXPECT(function);
        memcpy(&user, &function, sizeof function);
        EXPECT(user(cudaMalloc, i < TIMES ? &kept[i] : &p, i < TIMES ? MIB : 3 * MIB) == 0);
        EXPECT(dlclose(library) == 0);
        if (i % 2 == 1) {
            EXPECT(cudaFree(kept[i - 1]) == 0 && cudaFree(kept[i]) == 0);
        }
    }
}

/* memtool's own library is opened beside, used and closed: it stays, with what it holds. */
static void closed_memtool(void)
{
    void *(*allocate)(long, int, void *);
    void (*release)(void *, long, int, void *);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    void *take_function = library ? dlsym(library, "memtool_malloc") : NULL;
    void *give_function = library ? dlsym(library, "memtool_free") : NULL;
    EXPECT(take_function && give_function);
    memcpy(&allocate, &take_function, sizeof take_function);
    memcpy(&release, &give_function, sizeof give_function);
    void *p = allocate(1000, 0, NULL);
    EXPECT(p && dlclose(library) == 0);
    release(p, 1000, 0, NULL);
    EXPECT(allocate(1000, 0, NULL) == p);
    abort();
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {{"basic", basic},
             {"unwatched", unwatched},
             {"constructor", constructor},
             {"threads", threads},
             {"fork", forked},
             {"child", in_child},
             {"exit", at_the_end},
             {"loader", in_the_loader},
             {"closed", closed},
             {"closed-memtool", closed_memtool},

             {"lookups", lookups},
             {"pages", pages},
             {"shapes", shapes},
             {"host", host},
             {"code", code},
             {"reset", reset},
             {"oom", out_of_memory},
             {"signal", asked},
             {"term", told_to_end},
             {"terminated", terminated}};

int main(int argc, char **argv)
{
    mode = argc > 1 ? argv[1] : "";
    file = argc > 2 ? argv[2] : "";
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(modes[i].name, mode) == 0) {
            modes[i].run();
            return 0;
        }
    }
    return 2;
}
