/* SPDX-License-Identifier: MIT */
/* A CUDA program under the preload's mode cache: does one thing, named by its first argument, whose
 * outcome the cache must not change, and with MEMTOOL_PRELOAD=cache also checks that the cache
 * served it. tests/live/run-cache runs it. Exit 0 when all was as it must be. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda_program.h"

static const size_t mib = MIB;
static bool cached;                                                   /* under mode cache */
static void *const one = (void *)0x5000, *const two = (void *)0x6000; /* streams */

/* The strings of the fake driver, which this program is not linked to. */
static struct {
    void (*reset)(int devices, uint64_t memory);
    unsigned long (*calls)(const char *function);
    void (*hold)(bool hold);
    uint64_t (*used)(int device);
    const char *(*complaint)(void);
} fake;

static void find(const char *name, void *function)
{
    void *address = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
    EXPECT(address);
    memcpy(function, &address, sizeof address);
}

static void *take_async(size_t size, void *stream)
{
    void *p = NULL;
    EXPECT(cudaMallocAsync(&p, size, stream) == 0 && p);
    return p;
}

/* What is freed serves the next request, and the driver is not asked again. */
static void reuse(void)
{
    void *p = take(30 * mib);
    unsigned long before = fake.calls("cuMemAlloc_v2");
    for (int i = 0; i < 100; i++) {
        EXPECT(cudaFree(p) == 0);
        void *q = take(30 * mib);
        EXPECT(!cached || q == p);
        p = q;
    }
    EXPECT(!cached || fake.calls("cuMemAlloc_v2") == before);
    void *nothing = p;
    EXPECT(cudaMalloc(&nothing, 0) != 0); /* as this runtime has it: it is asked */
}

/* cudaFree waits for the device, or memory in use could be handed out. */
static void waits(void)
{
    void *p = take(30 * mib);
    fake.hold(true);
    unsigned long before = fake.calls("cuCtxSynchronize");
    EXPECT(cudaFree(p) == 0);
    EXPECT(!cached || fake.calls("cuCtxSynchronize") == before + 1);
    EXPECT(!cached || take(30 * mib) == p);
}

/* cudaFreeAsync does not wait: its own stream may have the memory at once, in order, others never,
 * and what another stream freed nobody before that one is done. */
static void streams(void)
{
    void *p = take_async(30 * mib, one), *all = take(40 * mib);
    fake.hold(true);
    EXPECT(cudaFreeAsync(p, one) == 0);
    EXPECT(!cached || take_async(30 * mib, two) != p);
    EXPECT(!cached || take(30 * mib) != p);
    EXPECT(!cached || take_async(30 * mib, one) == p);
    EXPECT(!cached || cudaFreeAsync(p, two) == 0);
    EXPECT(!cached || take_async(30 * mib, one) != p);
    EXPECT(cudaFreeAsync(all, NULL) == 0);
    EXPECT(!cached || take(40 * mib) != all); /* the default stream still has work on it */
    EXPECT(!cached || fake.calls("cuCtxSynchronize") + fake.calls("cuStreamSynchronize") == 0);
    fake.hold(false);
    EXPECT(!cached || take_async(30 * mib, one) == p);
    EXPECT(!cached || take(40 * mib) == all);
}

/* What the default stream does waits for all others and they for it, and programs count on that
 * where memory changes hands. */
static void legacy(void)
{
    void *p = take_async(30 * mib, NULL);
    fake.hold(true);
    EXPECT(cudaFreeAsync(p, NULL) == 0);
    unsigned long before = fake.calls("cuEventRecord");
    EXPECT(!cached || take_async(30 * mib, NULL) == p);
    EXPECT(!cached || fake.calls("cuEventRecord") == before + 1);
    EXPECT(!fake.complaint()[0]);
}

/* A handle comes again for another stream: the old one must be done by then. */
static void destroyed(void)
{
    void *p = take_async(30 * mib, one);
    EXPECT(cudaFreeAsync(p, one) == 0);
    EXPECT(cudaStreamDestroy(two) == 0);
    EXPECT(fake.calls("cuStreamSynchronize") == 0);
    EXPECT(cudaStreamDestroy(one) == 0);
    EXPECT(!cached || fake.calls("cuStreamSynchronize") == 1);
}

/* During a capture the graph gets memory of its own, and nothing is waited for. */
static void captured(void)
{
    void *graph = NULL, *p = take(30 * mib), *old = take_async(30 * mib, one);
    EXPECT(cudaStreamBeginCapture(one, 0) == 0);
    unsigned long before = fake.calls("cuMemAlloc_v2");
    void *node = take_async(30 * mib, one);
    EXPECT(fake.calls("cuMemAlloc_v2") == before + 1);
    if (cached) {
        EXPECT(cudaFree(p) == 0 && cudaFreeAsync(old, two) == 0); /* put off */
        EXPECT(cudaFreeAsync(old, one) == 1);                     /* no node of the graph's */
        EXPECT(cudaFree(p) == 1 && cudaFreeAsync(old, two) == 1); /* once is enough */
        EXPECT(fake.calls("cuCtxSynchronize") == 0);
    }
    EXPECT(cudaStreamEndCapture(one, &graph) == 0);
    EXPECT(!cached || take(30 * mib) == p);
    EXPECT(!cached || take_async(30 * mib, one) == old);
    EXPECT(cudaFreeAsync(node, two) == 0);
    EXPECT(!fake.complaint()[0]);
}

static void reset(void)
{
    void *p = take(30 * mib);
    (void)p;
    EXPECT(!cached || cudaDeviceReset() == 0);
    EXPECT(!cached || fake.used(0) == 0);
    EXPECT(cudaFree((void *)0x1234000) != 0);
    EXPECT(take(3 * mib));
}

/* A reset ends captures as well, and nothing that was put off outlives it. */
static void ended(void)
{
    void *p = take(30 * mib);
    if (cached) {
        EXPECT(cudaStreamBeginCapture(one, 0) == 0 && cudaFree(p) == 0 && cudaDeviceReset() == 0);
        EXPECT(fake.used(0) == 0);
        p = take(30 * mib);
        EXPECT(cudaFree(p) == 0 && take(30 * mib) == p && fake.used(0) == 30 * mib);
    }
}

/* The driver's own reset takes the cache's memory just so. */
static void outside(void)
{
    int (*reset_by_driver)(int device);
    find("cuDevicePrimaryCtxReset_v2", &reset_by_driver);
    EXPECT(cudaFree(take(30 * mib)) == 0 && reset_by_driver(0) == 0);
    EXPECT(fake.used(0) == 0);
    take(30 * mib);
    EXPECT(fake.used(0) == 30 * mib && !fake.complaint()[0]);
}

/* Memory is the current device's, and is freed from wherever. */
static void devices(void)
{
    void *p = take(30 * mib);
    EXPECT(cudaSetDevice(1) == 0);
    void *q = take(40 * mib);
    EXPECT(fake.used(0) >= 30 * mib && fake.used(1) >= 40 * mib && fake.used(1) < 60 * mib);
    EXPECT(cudaFree(p) == 0);
    EXPECT(cudaSetDevice(0) == 0 && cudaFree(q) == 0);
    EXPECT(!cached || take(30 * mib) == p);
}

/* What lies in the cache can be had, so it is free. */
static void info(void)
{
    size_t before = 0, after = 0, total = 0;
    take(1 * mib);
    EXPECT(cudaMemGetInfo(&before, &total) == 0);
    EXPECT(cudaFree(take(1024 * mib)) == 0);
    EXPECT(cudaMemGetInfo(&after, &total) == 0 && after == before);
    EXPECT(!cached || fake.used(0) > 1024 * mib);
}

static void handles(void)
{
    char handle[64];
    void *first = take(2 * mib), *second = take(2 * mib), *pitched = NULL;
    size_t pitch = 0;
    EXPECT(cudaMallocPitch(&pitched, &pitch, 500, 1024) == 0);
    EXPECT(cudaIpcGetMemHandle(handle, first) == 0 && cudaIpcGetMemHandle(handle, pitched) == 0);
    EXPECT(cudaIpcGetMemHandle(handle, second) == (cached ? 801 : 0));
}

/* Mistakes of the program are answered as ever, and do no harm. */
static void mistakes(void)
{
    char *p = take(30 * mib);
    EXPECT(cudaFree(p + 512) == 1);
    EXPECT(cudaFree(p) == 0);
    EXPECT(cudaFree(p) == 1); /* not the segment behind it */
    EXPECT(cudaFreeAsync(p, one) == 1);
    EXPECT(cudaFree((void *)0x1234) == 1);
    EXPECT(take(30 * mib) == p);
}

/* The cache gives back what is idle before anybody is refused; then all hear of it. */
static void room(void)
{
    int (*take_of_driver)(uint64_t * addr, size_t size);
    int (*give_to_driver)(uint64_t addr);
    uint64_t addr = 0;
    size_t pitch = 0;
    void *p = NULL;
    find("cuMemAlloc_v2", &take_of_driver);
    find("cuMemFree_v2", &give_to_driver);
    EXPECT(cudaFree(take(10240 * mib)) == 0);
    EXPECT(take_of_driver(&addr, 10240 * mib) == 0 && give_to_driver(addr) == 0);
    EXPECT(cudaFree(take(10240 * mib)) == 0);
    EXPECT(cudaMallocPitch(&p, &pitch, mib, 10240) == 0); /* passed on */
    EXPECT(cudaFree(p) == 0);
    fake.hold(true); /* the memory still waits for its stream */
    EXPECT(cudaFreeAsync(take_async(10240 * mib, one), two) == 0);
    EXPECT(take_of_driver(&addr, 10240 * mib) == 0 && give_to_driver(addr) == 0);
    fake.hold(false);
    EXPECT(cudaFree(take(9000 * mib)) == 0);
    p = take_async(12000 * mib, one);
    EXPECT(cudaGetLastError() == 0);
    EXPECT(cudaMalloc(&p, 12000 * mib) == 2 && cudaGetLastError() == 2);
    EXPECT(cudaMallocAsync(&p, (size_t)1 << 61, one) == 2);
}

/* 300 MiB stay, every other block of what there was: a long one does not fit any more. */
static void fragments(void)
{
    static void *blocks[200];
    void *p = NULL;
    for (int i = 0; i < 200; i++) {
        blocks[i] = take(3 * mib);
    }
    for (int i = 0; i < 200; i += 2) {
        EXPECT(cudaFree(blocks[i]) == 0);
    }
    EXPECT(!cached || cudaMalloc(&p, 400 * mib) == 2);
}

static void *churn(void *stream)
{
    for (int i = 0; i < 200; i++) {
        void *p = take((size_t)(1 + i % 7) * 4096),
             *q = take_async((size_t)(1 + i % 5) << 20, stream);
        EXPECT(cudaFree(p) == 0 && cudaFreeAsync(q, i % 3 ? stream : NULL) == 0);
    }
    return take(512 * 1024);
}

static void threads(void)
{
    pthread_t t[6];
    for (size_t i = 0; i < 6; i++) {
        EXPECT(pthread_create(&t[i], NULL, churn, (char *)one + 16 * i) == 0);
    }
    for (int i = 0; i < 6; i++) {
        pthread_join(t[i], NULL);
    }
    EXPECT(!fake.complaint()[0]);
}

static char **files;

static void wait_for(const char *file)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    for (int i = 0; i < 1000 && access(file, F_OK) != 0; i++) {
        nanosleep(&moment, NULL);
    }
    EXPECT(access(file, F_OK) == 0);
}

/* A snapshot for each file that is named, one for the end. */
static void asked(void)
{
    take(3 * mib);
    for (; cached && *files; files++) {
        EXPECT(raise(SIGUSR2) == 0);
        wait_for(*files);
    }
}

static void *refused(void *ignored)
{
    void *p = NULL;
    cudaMalloc(&p, (size_t)1 << 45);
    return ignored;
}

/* SIGTERM, while a thread waits for a driver that does not answer. */
static void stuck(void)
{
    const struct timespec moment = {.tv_nsec = 300000000};
    pthread_t thread;
    take(3 * mib);
    EXPECT(pthread_create(&thread, NULL, refused, NULL) == 0);
    nanosleep(&moment, NULL);
    raise(SIGTERM);
    for (;;) {
        pause();
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {{"reuse", reuse},         {"waits", waits},       {"streams", streams},
             {"destroyed", destroyed}, {"captured", captured}, {"reset", reset},
             {"ended", ended},         {"legacy", legacy},     {"outside", outside},
             {"devices", devices},     {"info", info},         {"handles", handles},
             {"mistakes", mistakes},   {"room", room},         {"fragments", fragments},
             {"threads", threads},     {"asked", asked},       {"stuck", stuck}};

int main(int argc, char **argv)
{
    files = argv + (argc > 1 ? 2 : 1);
    const char *preload = getenv("MEMTOOL_PRELOAD");
    cached = preload && strcmp(preload, "cache") == 0;
    find("fake_cuda_reset", &fake.reset);
    find("fake_cuda_calls", &fake.calls);
    find("fake_cuda_hold_events", &fake.hold);
    find("fake_cuda_used", &fake.used);
    find("fake_cuda_complaint", &fake.complaint);
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(modes[i].name, argv[1]) == 0) {
            fake.reset(2, modes[i].run == fragments ? 1024 * mib : (uint64_t)16384 * mib);
            modes[i].run();
            return 0;
        }
    }
    return 2;
}
