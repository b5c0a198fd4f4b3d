/* SPDX-License-Identifier: MIT */
/*
 * A plain CUDA program for the capture part of check-gpu. Its first argument says what it does:
 *
 *   account      takes memory in every way that the preload knows; {"difference": BYTES} says how
 *                much the device has less of afterwards; ends with a refusal that it survives
 *   verify       data that must survive reuse of memory in streams, graphs and threads:
 *                {"wrong": N, "pair_us": of a cudaMalloc and cudaFree}
 *   oom          ends with exit 3 because memory runs out
 *   segv, kill   asks for a snapshot by SIGUSR2, waits for the file that its second argument names,
 *                and dies of that signal; kill without a file dies at once
 *
 * Declares what it calls by itself: no headers of CUDA are needed, and what the fake runtime of the
 * dry run lacks is weak.
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef void *stream_t;
int cudaMalloc(void **ptr, size_t size);
int cudaFree(void *ptr);
int cudaMallocAsync(void **ptr, size_t size, stream_t stream);
int cudaFreeAsync(void *ptr, stream_t stream);
int cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height);
int cudaMemGetInfo(size_t *free_bytes, size_t *total);
int cudaGetLastError(void);
int cudaStreamBeginCapture(stream_t stream, int mode);
int cudaStreamEndCapture(stream_t stream, void **graph);
int cudaStreamDestroy(stream_t stream);
int cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                     unsigned long long flags, int *status);

#define WEAK __attribute__((weak))
WEAK int cudaStreamSynchronize(stream_t stream);
WEAK int cudaDeviceSynchronize(void);
WEAK int cudaStreamCreateWithFlags(stream_t *stream, unsigned flags);
WEAK int cudaMemsetAsync(void *ptr, int value, size_t size, stream_t stream);
WEAK int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, stream_t stream);
WEAK int cudaMemcpy(void *to, const void *from, size_t size, int kind);
WEAK int cudaEventCreateWithFlags(void **event, unsigned flags);
WEAK int cudaEventRecord(void *event, stream_t stream);
WEAK int cudaStreamWaitEvent(stream_t stream, void *event, unsigned flags);
WEAK int cudaGraphInstantiate(void **executable, void *graph, unsigned long long flags);
WEAK int cudaGraphLaunch(void *executable, stream_t stream);

#define EXPECT(x)                                                                                  \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "line %d: %s (CUDA error %d)\n", __LINE__, #x, cudaGetLastError());    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { OUT_OF_MEMORY = 2, TO_HOST = 2, ON_DEVICE = 3, NON_BLOCKING = 1, NO_TIMING = 2 };

static const size_t mib = 1u << 20;

/* ---- account ---- */

static void take_by_runtime(void)
{
    void *p = NULL;
    size_t pitch = 0;
    for (size_t i = 0; i < 100; i++) {
        EXPECT(cudaMalloc(&p, (1 + i % 9) * mib) == 0);
        if (i % 5 == 0) {
            EXPECT(cudaFree(p) == 0);
        }
    }
    EXPECT(cudaMallocPitch(&p, &pitch, 5000, 20000) == 0);
    EXPECT(cudaMallocAsync(&p, 256 * mib, NULL) == 0);
    EXPECT(!cudaStreamSynchronize || cudaStreamSynchronize(NULL) == 0);
}

static void take_by_driver(void)
{
    /* CUmemAllocationProp of cuda.h 13.0: pinned memory of device 0 */
    const struct {
        int type, handle_types, location_type, location_id;
        void *unused;
        unsigned char rest[8];
    } prop = {.type = 1, .location_type = 1};
    int (*create)(uint64_t * handle, size_t size, const void *prop, unsigned long long flags);
    void *entry = NULL;
    int found = 0;
    uint64_t handle;
    EXPECT(cudaGetDriverEntryPointByVersion("cuMemCreate", &entry, 12000, 0, &found) == 0 && entry);
    memcpy(&create, &entry, sizeof create);
    EXPECT(create(&handle, 512 * mib, &prop, 0) == 0);
}

static void account(void)
{
    size_t before, after, total;
    void *p = NULL;
    EXPECT(cudaFree(NULL) == 0);
    EXPECT(cudaMemGetInfo(&before, &total) == 0);
    take_by_runtime();
    take_by_driver();
    EXPECT(cudaMemGetInfo(&after, &total) == 0);
    EXPECT(cudaMalloc(&p, (size_t)1 << 50) == OUT_OF_MEMORY);
    EXPECT(cudaGetLastError() == OUT_OF_MEMORY);
    printf("{\"difference\": %zu}\n", before - after);
}

/* ---- verify ---- */

enum { STREAMS = 4, ROUNDS = 160, SIZE = 4 << 20, SAMPLES = 64 };

static stream_t streams[STREAMS];
static char *kept[ROUNDS]; /* copies of each round's block */
static char *slow;         /* keeps a stream busy while it is written */
static void *event;

/* A block is written, copied behind slow work, freed without waiting, in one of three ways, and the
 * next one is written by another stream at once: where it is the same memory, the copy is wrong. */
static void one_round(int k)
{
    stream_t s = streams[k % STREAMS], t = streams[(k + 1) % STREAMS];
    void *p = NULL, *q = NULL;
    EXPECT(k % 3 == 2 ? cudaMalloc(&p, SIZE) == 0 : cudaMallocAsync(&p, SIZE, s) == 0);
    EXPECT(cudaMemsetAsync(p, k % 200 + 1, SIZE, s) == 0);
    if (k % 3 == 1) { /* another stream reads it and frees it; its own one goes on */
        EXPECT(cudaEventRecord(event, s) == 0 && cudaStreamWaitEvent(t, event, 0) == 0);
    }
    stream_t reader = k % 3 == 1 ? t : s, u = k % 3 == 1 ? s : t;
    for (int i = 0; i < 3; i++) {
        EXPECT(cudaMemsetAsync(slow, i, 256 * mib, reader) == 0);
    }
    EXPECT(cudaMemcpyAsync(kept[k], p, SIZE, ON_DEVICE, reader) == 0);
    EXPECT(k % 3 == 2 ? cudaFree(p) == 0 : cudaFreeAsync(p, reader) == 0);
    EXPECT(cudaMallocAsync(&q, SIZE, u) == 0);
    EXPECT(cudaMemsetAsync(q, 0xee, SIZE, u) == 0);
    EXPECT(cudaFreeAsync(q, u) == 0);
}

static int count_wrong(const char *block, int value)
{
    int wrong = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        unsigned char seen = 0;
        EXPECT(cudaMemcpy(&seen, block + i * (SIZE / SAMPLES), 1, TO_HOST) == 0);
        wrong += seen != value;
    }
    return wrong;
}

/* A graph with memory of its own runs three times, while memory freed during its capture comes
 * back afterwards. */
static int graph(void)
{
    void *captured = NULL, *executable = NULL, *node = NULL, *freed = NULL, *out = NULL;
    bool cached = getenv("MEMTOOL_PRELOAD") && strcmp(getenv("MEMTOOL_PRELOAD"), "cache") == 0;
    EXPECT(cudaMalloc(&freed, SIZE) == 0 && cudaMalloc(&out, SIZE) == 0);
    EXPECT(cudaStreamBeginCapture(streams[0], 0) == 0);
    EXPECT(cudaMallocAsync(&node, SIZE, streams[0]) == 0);
    EXPECT(cudaMemsetAsync(node, 77, SIZE, streams[0]) == 0);
    EXPECT(cudaMemcpyAsync(out, node, SIZE, ON_DEVICE, streams[0]) == 0);
    EXPECT(!cached || cudaFree(freed) == 0); /* the runtime itself would break the capture */
    EXPECT(cudaFreeAsync(node, streams[0]) == 0);
    EXPECT(cudaStreamEndCapture(streams[0], &captured) == 0 && captured);
    EXPECT(cudaGraphInstantiate(&executable, captured, 0) == 0);
    int wrong = 0;
    for (int i = 0; i < 3; i++) {
        EXPECT(cudaMemsetAsync(out, 0, SIZE, streams[0]) == 0);
        EXPECT(cudaGraphLaunch(executable, streams[0]) == 0);
        EXPECT(cudaStreamSynchronize(streams[0]) == 0);
        wrong += count_wrong(out, 77);
    }
    EXPECT(cached || cudaFree(freed) == 0);
    EXPECT(cudaFree(out) == 0);
    return wrong;
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static double pair_us(void)
{
    enum { PAIRS = 1000 };
    double begin = now_us();
    for (size_t i = 0; i < PAIRS; i++) {
        void *p = NULL;
        EXPECT(cudaMalloc(&p, (2 + i % 5) * mib) == 0 && cudaFree(p) == 0);
    }
    return (now_us() - begin) / PAIRS;
}

static void verify(void)
{
    int wrong = 0;
    if (!cudaMemsetAsync || !cudaGraphLaunch) {
        printf("{\"wrong\": 0, \"pair_us\": %.2f, \"rounds\": 0}\n", pair_us());
        return;
    }
    for (int i = 0; i < STREAMS; i++) {
        EXPECT(cudaStreamCreateWithFlags(&streams[i], NON_BLOCKING) == 0);
    }
    EXPECT(cudaEventCreateWithFlags(&event, NO_TIMING) == 0);
    EXPECT(cudaMalloc((void **)&slow, 256 * mib) == 0);
    for (int k = 0; k < ROUNDS; k++) {
        EXPECT(cudaMalloc((void **)&kept[k], SIZE) == 0);
    }
    for (int k = 0; k < ROUNDS; k++) {
        one_round(k);
    }
    EXPECT(cudaDeviceSynchronize() == 0);
    for (int k = 0; k < ROUNDS; k++) {
        wrong += count_wrong(kept[k], k % 200 + 1);
    }
    int of_graph = graph();
    for (int i = 0; i < STREAMS; i++) {
        EXPECT(cudaStreamDestroy(streams[i]) == 0);
    }
    EXPECT(cudaGetLastError() == 0);
    printf("{\"wrong\": %d, \"wrong_in_graph\": %d, \"pair_us\": %.2f, \"rounds\": %d}\n", wrong,
           of_graph, pair_us(), ROUNDS);
}

/* ---- ends ---- */

static void run_out(void)
{
    void *p = NULL;
    size_t size = 1024 * mib;
    while (cudaMalloc(&p, size) == 0) {
    }
    fprintf(stderr, "simulation: no memory left for %zu bytes\n", size);
    exit(3);
}

static void die(int number, const char *file)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    void *p = NULL;
    EXPECT(cudaMalloc(&p, 100 * mib) == 0);
    if (file) {
        raise(SIGUSR2);
    }
    for (int i = 0; file && i < 1000 && access(file, F_OK) != 0; i++) {
        nanosleep(&moment, NULL);
    }
    for (int i = 0; file && i < 20; i++) {
        nanosleep(&moment, NULL); /* until memtool has been told of the file */
    }
    raise(number);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const char *file = argc > 2 ? argv[2] : NULL;
    if (strcmp(what, "account") == 0) {
        account();
    } else if (strcmp(what, "verify") == 0) {
        verify();
    } else if (strcmp(what, "oom") == 0) {
        run_out();
    } else if (strcmp(what, "segv") == 0) {
        die(SIGSEGV, file);
    } else if (strcmp(what, "kill") == 0) {
        die(SIGKILL, file);
    } else {
        return 2;
    }
    return 0;
}
