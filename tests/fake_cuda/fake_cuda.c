/* SPDX-License-Identifier: MIT */
/*
 * A libcuda.so.1 whose memory is only numbers. It keeps the books of a real driver - contexts,
 * allocations, reservations, physical pages, mappings, events, captures - refuses what a real one
 * refuses, and fails where a test tells it to. Nothing is fast or large here: one array of things,
 * searched from end to end under one lock.
 */
#include "fake_cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "allocator/device/cuda_driver.h"

#define FAKE_API __attribute__((visibility("default")))

enum { MAX_DEVICES = 8, MAX_DEPTH = 16, MAX_CAPTURES = 8, MAX_STREAMS = 8, MAX_FUNCTIONS = 64 };

enum kind { ALLOCATION = 1, RESERVATION, PAGE, MAPPING, EVENT };

/* One open thing; `end` is what it is about: address and size, or a page's handle in addr. */
struct thing {
    enum kind kind;
    int device;
    uint64_t addr;
    uint64_t size;
    uint64_t page;   /* MAPPING: the page behind it */
    bool accessible; /* MAPPING: cuMemSetAccess came */
    bool pending;    /* EVENT */
    bool released;   /* PAGE: the handle is gone */
};

static struct fake {
    pthread_mutex_t lock;
    pid_t pid;
    pthread_t first; /* the thread of cuInit */
    bool initialised, shut_down, holding;
    int devices;
    uint64_t memory;
    uint64_t used[MAX_DEVICES];
    bool active[MAX_DEVICES]; /* the primary context has been made */
    struct thing *things;
    size_t n, cap;
    uint64_t next_handle;
    void *stream[MAX_STREAMS];      /* those of which something is known: */
    int stream_device[MAX_STREAMS]; /* -1: destroyed */
    int n_streams;
    void *capturing[MAX_CAPTURES];
    uint64_t capture_id[MAX_CAPTURES];
    uint64_t next_capture;
    const char *names[MAX_FUNCTIONS];
    unsigned long counts[MAX_FUNCTIONS];
    unsigned long calls;
    char fail_function[64]; /* "" = any */
    unsigned long fail_in;
    int fail_code;
    bool failed;
    char complaint[200];
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .devices = 1, .memory = 16ull << 30};

static _Thread_local int context_stack[MAX_DEPTH]; /* device + 1 */
static _Thread_local int context_depth;
static _Thread_local int capture_mode;

static const uint64_t page_size = 2u << 20;

/* ---- the books ---- */

static void complain(const char *function, uint64_t addr, const char *what)
{
    if (!fake.complaint[0]) {
        snprintf(fake.complaint, sizeof fake.complaint, "%s(%#llx): %s", function,
                 (unsigned long long)addr, what);
    }
}

static struct thing *find(enum kind kind, uint64_t addr)
{
    for (size_t i = 0; i < fake.n; i++) {
        if (fake.things[i].kind == kind && fake.things[i].addr == addr) {
            return &fake.things[i];
        }
    }
    return NULL;
}

/* Any thing of the kind that overlaps [addr, addr + size). */
static struct thing *overlap(enum kind kind, uint64_t addr, uint64_t size)
{
    for (size_t i = 0; i < fake.n; i++) {
        struct thing *t = &fake.things[i];
        if (t->kind == kind && t->addr < addr + size && addr < t->addr + t->size) {
            return t;
        }
    }
    return NULL;
}

static struct thing *add(struct thing thing)
{
    if (fake.n == fake.cap) {
        fake.cap = fake.cap ? 2 * fake.cap : 64;
        fake.things = realloc(fake.things, fake.cap * sizeof *fake.things);
        if (!fake.things) {
            abort();
        }
    }
    fake.things[fake.n] = thing;
    return &fake.things[fake.n++];
}

static void drop(struct thing *t)
{
    *t = fake.things[--fake.n];
}

/* The lowest free range of addresses of a device, aligned to pages. */
static uint64_t free_range(int device, uint64_t size)
{
    uint64_t addr = ((uint64_t)(0x7f00 + device * 0x10)) << 32;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < fake.n; i++) {
            const struct thing *t = &fake.things[i];
            if ((t->kind == ALLOCATION || t->kind == RESERVATION) && t->addr < addr + size &&
                addr < t->addr + t->size) {
                addr = (t->addr + t->size + page_size - 1) / page_size * page_size;
                moved = true;
            }
        }
    }
    return addr;
}

/* Children find no lock taken. */
static void lock(void)
{
    pthread_mutex_lock(&fake.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&fake.lock);
}

__attribute__((constructor)) static void survive_forks(void)
{
    pthread_atfork(lock, unlock, unlock);
}

/* ---- entering a call ---- */

static void count_call(const char *function)
{
    fake.calls++;
    for (int i = 0; i < MAX_FUNCTIONS; i++) {
        if (!fake.names[i]) {
            fake.names[i] = function;
        }
        if (strcmp(fake.names[i], function) == 0) {
            fake.counts[i]++;
            return;
        }
    }
}

static int planned_failure(const char *function)
{
    if (fake.fail_in == 0 || (fake.fail_function[0] && strcmp(fake.fail_function, function) != 0)) {
        return MT_CUDA_SUCCESS;
    }
    if (--fake.fail_in > 0) {
        return MT_CUDA_SUCCESS;
    }
    fake.failed = true;
    return fake.fail_code;
}

/* Takes the lock and says whether the call may go on. */
static int enter(const char *function)
{
    pthread_mutex_lock(&fake.lock);
    count_call(function);
    if (fake.shut_down) {
        return MT_CUDA_DEINITIALIZED;
    }
    if (strcmp(function, "cuInit") != 0 && (!fake.initialised || fake.pid != getpid())) {
        return MT_CUDA_NOT_INITIALIZED; /* also in a forked child */
    }
    return planned_failure(function);
}

static int leave(int result)
{
    pthread_mutex_unlock(&fake.lock);
    return result;
}

static bool any_capture(void)
{
    for (int i = 0; i < MAX_CAPTURES; i++) {
        if (fake.capturing[i]) {
            return true;
        }
    }
    return false;
}

/* For calls that need a context, and that CUDA forbids while a stream is capturing. */
static int enter_context(const char *function)
{
    int result = enter(function);
    if (result != MT_CUDA_SUCCESS) {
        return result;
    }
    if (context_depth == 0) {
        return MT_CUDA_INVALID_CONTEXT;
    }
    if (any_capture() && capture_mode != MT_CUDA_CAPTURE_MODE_RELAXED) {
        complain(function, 0, "called during a capture, not in the relaxed mode");
        return MT_CUDA_CAPTURE_UNSUPPORTED;
    }
    return MT_CUDA_SUCCESS;
}

static int current_device(void)
{
    return context_stack[context_depth - 1] - 1;
}

#define ENTER(function)                                                                            \
    int entered_ = enter(function);                                                                \
    if (entered_ != MT_CUDA_SUCCESS) {                                                             \
        return leave(entered_);                                                                    \
    }
#define ENTER_CONTEXT(function)                                                                    \
    int entered_ = enter_context(function);                                                        \
    if (entered_ != MT_CUDA_SUCCESS) {                                                             \
        return leave(entered_);                                                                    \
    }

/* ---- the driver's functions ---- */

/* declared through the same list that the library loads, so that the two cannot differ */
#define X(member, symbol, need, arguments) FAKE_API int fake_##member arguments __asm__(symbol);
#include "allocator/device/cuda_api.def"
#undef X

int fake_init(unsigned flags)
{
    const char *ms = getenv("FAKE_CUDA_SLOW_MS");
    if (ms) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000 * strtol(ms, NULL, 10)}, NULL);
    }
    ENTER("cuInit")
    (void)flags;
    if (fake.initialised && fake.pid != getpid()) {
        return leave(MT_CUDA_NOT_INITIALIZED); /* the child of a process with CUDA */
    }
    fake.initialised = true;
    fake.pid = getpid();
    fake.first = pthread_self();
    return leave(fake.devices > 0 ? MT_CUDA_SUCCESS : MT_CUDA_NO_DEVICE);
}

int fake_device_get_count(int *count)
{
    ENTER("cuDeviceGetCount")
    *count = fake.devices;
    return leave(MT_CUDA_SUCCESS);
}

int fake_device_get(int *device, int ordinal)
{
    ENTER("cuDeviceGet")
    if (ordinal < 0 || ordinal >= fake.devices) {
        return leave(MT_CUDA_INVALID_DEVICE);
    }
    *device = ordinal;
    return leave(MT_CUDA_SUCCESS);
}

int fake_device_get_attribute(int *value, int attribute, int device)
{
    ENTER("cuDeviceGetAttribute")
    (void)device;
    *value = attribute == MT_CUDA_ATTRIBUTE_HAS_VMM ? 1 : 0;
    return leave(MT_CUDA_SUCCESS);
}

int fake_device_total_mem(size_t *bytes, int device)
{
    ENTER("cuDeviceTotalMem_v2")
    (void)device;
    *bytes = fake.memory;
    return leave(MT_CUDA_SUCCESS);
}

int fake_primary_ctx_retain(void **ctx, int device)
{
    ENTER("cuDevicePrimaryCtxRetain")
    if (!fake.active[device]) {
        const char *bytes = getenv("FAKE_CUDA_CONTEXT_BYTES");
        fake.used[device] += bytes ? strtoull(bytes, NULL, 10) : 0;
        fake.active[device] = true;
    }
    *ctx = (void *)(uintptr_t)(0xc0 + device);
    return leave(MT_CUDA_SUCCESS);
}

int fake_primary_ctx_release(int device)
{
    ENTER("cuDevicePrimaryCtxRelease_v2")
    (void)device;
    return leave(MT_CUDA_SUCCESS);
}

int fake_ctx_get_current(void **ctx)
{
    ENTER("cuCtxGetCurrent")
    *ctx = context_depth ? (void *)(uintptr_t)(0xc0 + current_device()) : NULL;
    return leave(MT_CUDA_SUCCESS);
}

int fake_ctx_push_current(void *ctx)
{
    ENTER("cuCtxPushCurrent_v2")
    if (context_depth == MAX_DEPTH) {
        complain("cuCtxPushCurrent", (uintptr_t)ctx, "contexts are pushed and never popped");
        return leave(MT_CUDA_INVALID_CONTEXT);
    }
    context_stack[context_depth++] = (int)((uintptr_t)ctx - 0xc0) + 1;
    return leave(MT_CUDA_SUCCESS);
}

int fake_ctx_pop_current(void **ctx)
{
    ENTER("cuCtxPopCurrent_v2")
    if (context_depth == 0) {
        complain("cuCtxPopCurrent", 0, "nothing to pop");
        return leave(MT_CUDA_INVALID_CONTEXT);
    }
    *ctx = (void *)(uintptr_t)(0xc0 + current_device());
    context_depth--;
    return leave(MT_CUDA_SUCCESS);
}

/* Whether a stream can be used in a context of `device`. */
static int check_stream(const void *stream, int device)
{
    for (int i = 0; i < fake.n_streams; i++) {
        if (fake.stream[i] == stream && fake.stream_device[i] != device) {
            return MT_CUDA_INVALID_HANDLE;
        }
    }
    return MT_CUDA_SUCCESS;
}

static void finish_events(void)
{
    for (size_t i = 0; i < fake.n; i++) {
        fake.things[i].pending = false;
    }
}

int fake_ctx_synchronize(void)
{
    ENTER_CONTEXT("cuCtxSynchronize")
    if (any_capture()) {
        complain("cuCtxSynchronize", 0, "called during a capture");
        return leave(MT_CUDA_CAPTURE_UNSUPPORTED);
    }
    finish_events();
    return leave(MT_CUDA_SUCCESS);
}

int fake_stream_synchronize(void *stream)
{
    ENTER_CONTEXT("cuStreamSynchronize")
    if (check_stream(stream, current_device()) != MT_CUDA_SUCCESS) {
        return leave(MT_CUDA_INVALID_HANDLE);
    }
    finish_events();
    return leave(MT_CUDA_SUCCESS);
}

int fake_mem_get_info(size_t *free_bytes, size_t *total)
{
    const char *seconds = getenv("FAKE_CUDA_STUCK_S");
    if (seconds && !pthread_equal(pthread_self(), fake.first)) {
        sleep((unsigned)strtoul(seconds, NULL, 10));
    }
    ENTER_CONTEXT("cuMemGetInfo_v2")
    *total = fake.memory;
    *free_bytes = fake.memory - fake.used[current_device()];
    return leave(MT_CUDA_SUCCESS);
}

/* With the driver's lock, for ever. */
static void get_stuck(size_t size)
{
    const char *stuck = getenv("FAKE_CUDA_STUCK_SIZE");
    while (stuck && strtoull(stuck, NULL, 10) == size) {
        pause();
    }
}

int fake_mem_alloc(uint64_t *addr, size_t size)
{
    ENTER_CONTEXT("cuMemAlloc_v2")
    get_stuck(size);
    int device = current_device();
    if (size == 0) {
        return leave(MT_CUDA_INVALID_VALUE);
    }
    if (size > fake.memory - fake.used[device]) {
        return leave(MT_CUDA_OUT_OF_MEMORY);
    }
    *addr = free_range(device, size);
    fake.used[device] += size;
    add((struct thing){.kind = ALLOCATION, .device = device, .addr = *addr, .size = size});
    return leave(MT_CUDA_SUCCESS);
}

int fake_mem_free(uint64_t addr)
{
    ENTER_CONTEXT("cuMemFree_v2")
    struct thing *t = find(ALLOCATION, addr);
    if (!t) {
        complain("cuMemFree", addr, "not allocated");
        return leave(MT_CUDA_INVALID_VALUE);
    }
    fake.used[t->device] -= t->size;
    drop(t);
    finish_events(); /* cuMemFree waits for the device */
    return leave(MT_CUDA_SUCCESS);
}

int fake_event_create(void **event, unsigned flags)
{
    ENTER_CONTEXT("cuEventCreate")
    (void)flags;
    fake.next_handle += 16;
    *event = (void *)(uintptr_t)(0xe00000 + fake.next_handle);
    add((struct thing){.kind = EVENT, .device = current_device(), .addr = (uintptr_t)*event});
    return leave(MT_CUDA_SUCCESS);
}

int fake_event_destroy(void *event)
{
    ENTER_CONTEXT("cuEventDestroy_v2")
    struct thing *t = find(EVENT, (uintptr_t)event);
    if (!t) {
        complain("cuEventDestroy", (uintptr_t)event, "no such event");
        return leave(MT_CUDA_INVALID_HANDLE);
    }
    drop(t);
    return leave(MT_CUDA_SUCCESS);
}

int fake_event_record(void *event, void *stream)
{
    ENTER_CONTEXT("cuEventRecord")
    struct thing *t = find(EVENT, (uintptr_t)event);
    if (!t) {
        complain("cuEventRecord", (uintptr_t)event, "no such event");
        return leave(MT_CUDA_INVALID_HANDLE);
    }
    if (check_stream(stream, t->device) != MT_CUDA_SUCCESS) {
        return leave(MT_CUDA_INVALID_HANDLE);
    }
    t->pending = fake.holding;
    return leave(MT_CUDA_SUCCESS);
}

int fake_event_query(void *event)
{
    ENTER_CONTEXT("cuEventQuery")
    struct thing *t = find(EVENT, (uintptr_t)event);
    if (!t) {
        complain("cuEventQuery", (uintptr_t)event, "no such event");
        return leave(MT_CUDA_INVALID_HANDLE);
    }
    return leave(t->pending ? MT_CUDA_NOT_READY : MT_CUDA_SUCCESS);
}

int fake_event_synchronize(void *event)
{
    ENTER_CONTEXT("cuEventSynchronize")
    struct thing *t = find(EVENT, (uintptr_t)event);
    if (!t) {
        complain("cuEventSynchronize", (uintptr_t)event, "no such event");
        return leave(MT_CUDA_INVALID_HANDLE);
    }
    t->pending = false;
    return leave(MT_CUDA_SUCCESS);
}

int fake_mem_granularity(size_t *bytes, const struct mt_cuda_memory_prop *prop, int option)
{
    ENTER("cuMemGetAllocationGranularity")
    (void)prop;
    (void)option;
    *bytes = page_size;
    return leave(MT_CUDA_SUCCESS);
}

int fake_mem_address_reserve(uint64_t *addr, size_t size, size_t alignment, uint64_t wanted,
                             unsigned long long flags)
{
    ENTER_CONTEXT("cuMemAddressReserve")
    (void)alignment;
    (void)wanted;
    (void)flags;
    if (size == 0 || size % page_size != 0) {
        complain("cuMemAddressReserve", size, "the size is no multiple of the granularity");
        return leave(MT_CUDA_INVALID_VALUE);
    }
    int device = current_device();
    *addr = free_range(device, size);
    add((struct thing){.kind = RESERVATION, .device = device, .addr = *addr, .size = size});
    return leave(MT_CUDA_SUCCESS);
}

int fake_mem_address_free(uint64_t addr, size_t size)
{
    ENTER_CONTEXT("cuMemAddressFree")
    struct thing *t = find(RESERVATION, addr);
    if (!t || t->size != size || overlap(MAPPING, addr, size)) {
        complain("cuMemAddressFree", addr, "not reserved so, or still mapped");
        return leave(MT_CUDA_INVALID_VALUE);
    }
    drop(t);
    return leave(MT_CUDA_SUCCESS);
}

int fake_mem_create(uint64_t *handle, size_t size, const struct mt_cuda_memory_prop *prop,
                    unsigned long long flags)
{
    ENTER("cuMemCreate")
    (void)flags;
    int device = prop->location.id;
    if (size == 0 || size % page_size != 0 || prop->type != MT_CUDA_MEMORY_PINNED) {
        complain("cuMemCreate", size, "a size or kind that is not allowed");
        return leave(MT_CUDA_INVALID_VALUE);
    }
    if (size > fake.memory - fake.used[device]) {
        return leave(MT_CUDA_OUT_OF_MEMORY);
    }
    fake.next_handle += 16;
    *handle = fake.next_handle;
    fake.used[device] += size;
    add((struct thing){.kind = PAGE, .device = device, .addr = *handle, .size = size});
    return leave(MT_CUDA_SUCCESS);
}

/* A page's memory is given back when neither its handle nor a mapping holds it. */
static void drop_page_if_unheld(uint64_t handle)
{
    struct thing *page = find(PAGE, handle);
    for (size_t i = 0; i < fake.n; i++) {
        if (fake.things[i].kind == MAPPING && fake.things[i].page == handle) {
            return;
        }
    }
    if (page && page->released) {
        fake.used[page->device] -= page->size;
        drop(page);
    }
}

int fake_mem_release(uint64_t handle)
{
    ENTER("cuMemRelease")
    struct thing *t = find(PAGE, handle);
    if (!t || t->released) {
        complain("cuMemRelease", handle, "no such handle");
        return leave(MT_CUDA_INVALID_VALUE);
    }
    t->released = true;
    drop_page_if_unheld(handle);
    return leave(MT_CUDA_SUCCESS);
}

int fake_mem_map(uint64_t addr, size_t size, size_t offset, uint64_t handle,
                 unsigned long long flags)
{
    ENTER("cuMemMap")
    (void)offset;
    (void)flags;
    struct thing *page = find(PAGE, handle);
    struct thing *range = overlap(RESERVATION, addr, size);
    if (!page || page->released || page->size != size || !range || addr < range->addr ||
        addr + size > range->addr + range->size || overlap(MAPPING, addr, size)) {
        complain("cuMemMap", addr, "no page, no reservation, or mapped already");
        return leave(MT_CUDA_INVALID_VALUE);
    }
    struct thing mapping = {.kind = MAPPING, .addr = addr, .size = size, .page = handle};
    mapping.device = page->device;
    add(mapping);
    return leave(MT_CUDA_SUCCESS);
}

/* One whole mapping, as the driver wants it. */
int fake_mem_unmap(uint64_t addr, size_t size)
{
    ENTER("cuMemUnmap")
    struct thing *t = find(MAPPING, addr);
    if (!t || t->size != size) {
        complain("cuMemUnmap", addr, "not a whole mapping");
        return leave(MT_CUDA_INVALID_VALUE);
    }
    uint64_t handle = t->page;
    drop(t);
    drop_page_if_unheld(handle);
    return leave(MT_CUDA_SUCCESS);
}

int fake_mem_set_access(uint64_t addr, size_t size, const struct mt_cuda_access *access,
                        size_t count)
{
    ENTER("cuMemSetAccess")
    uint64_t covered = 0;
    if (count == 0 || access[0].flags != MT_CUDA_ACCESS_READ_WRITE) {
        return leave(MT_CUDA_INVALID_VALUE);
    }
    for (size_t i = 0; i < fake.n; i++) {
        struct thing *t = &fake.things[i];
        if (t->kind == MAPPING && t->addr >= addr && t->addr + t->size <= addr + size) {
            t->accessible = true;
            covered += t->size;
        }
    }
    if (covered != size) {
        complain("cuMemSetAccess", addr, "not all of the range is mapped");
        return leave(MT_CUDA_INVALID_VALUE);
    }
    return leave(MT_CUDA_SUCCESS);
}

int fake_stream_capture_info(void *stream, int *status, uint64_t *id, void **graph,
                             const void ***nodes, size_t *count)
{
    ENTER("cuStreamGetCaptureInfo_v2")
    (void)graph;
    (void)nodes;
    (void)count;
    if (!stream && any_capture()) {
        return leave(MT_CUDA_CAPTURE_IMPLICIT);
    }
    *status = 0;
    for (int i = 0; i < MAX_CAPTURES; i++) {
        if (stream && fake.capturing[i] == stream) {
            *status = MT_CUDA_CAPTURE_ACTIVE;
            *id = fake.capture_id[i];
        }
    }
    return leave(MT_CUDA_SUCCESS);
}

int fake_stream_get_ctx(void *stream, void **ctx)
{
    ENTER("cuStreamGetCtx")
    /* streams are only names here, of the current device's context if nothing else is known */
    int device = context_depth ? current_device() : -1;
    for (int i = 0; i < fake.n_streams; i++) {
        device = fake.stream[i] == stream ? fake.stream_device[i] : device;
    }
    *ctx = device >= 0 ? (void *)(uintptr_t)(0xc0 + device) : NULL;
    return leave(*ctx            ? MT_CUDA_SUCCESS
                 : context_depth ? MT_CUDA_INVALID_HANDLE
                                 : MT_CUDA_INVALID_CONTEXT);
}

int fake_thread_capture_mode(int *mode)
{
    ENTER("cuThreadExchangeStreamCaptureMode")
    int old = capture_mode;
    capture_mode = *mode;
    *mode = old;
    return leave(MT_CUDA_SUCCESS);
}

/* ---- the strings ---- */

FAKE_API void fake_cuda_reset(int devices, uint64_t memory)
{
    pthread_mutex_lock(&fake.lock);
    free(fake.things);
    size_t keep = offsetof(struct fake, pid);
    memset((char *)&fake + keep, 0, sizeof fake - keep);
    fake.devices = devices;
    fake.memory = memory;
    context_depth = 0;
    capture_mode = 0;
    pthread_mutex_unlock(&fake.lock);
}

FAKE_API void fake_cuda_fail(const char *function, unsigned long n, int code)
{
    pthread_mutex_lock(&fake.lock);
    snprintf(fake.fail_function, sizeof fake.fail_function, "%s", function ? function : "");
    fake.fail_in = n;
    fake.fail_code = code;
    fake.failed = false;
    pthread_mutex_unlock(&fake.lock);
}

/* As cuDevicePrimaryCtxReset: what was allocated is gone, and no stream is captured any more. */
FAKE_API void fake_cuda_device_reset(int device)
{
    pthread_mutex_lock(&fake.lock);
    for (size_t i = fake.n; i-- > 0;) {
        if (fake.things[i].kind == ALLOCATION && fake.things[i].device == device) {
            fake.used[device] -= fake.things[i].size;
            drop(&fake.things[i]);
        }
    }
    for (size_t i = 0; i < MAX_CAPTURES; i++) {
        fake.capturing[i] = NULL;
    }
    pthread_mutex_unlock(&fake.lock);
}

FAKE_API bool fake_cuda_active(int device)
{
    pthread_mutex_lock(&fake.lock);
    bool active = fake.active[device];
    pthread_mutex_unlock(&fake.lock);
    return active;
}

FAKE_API bool fake_cuda_failed(void)
{
    pthread_mutex_lock(&fake.lock);
    bool failed = fake.failed;
    pthread_mutex_unlock(&fake.lock);
    return failed;
}

FAKE_API unsigned long fake_cuda_calls(const char *function)
{
    pthread_mutex_lock(&fake.lock);
    unsigned long calls = function ? 0 : fake.calls;
    for (int i = 0; function && i < MAX_FUNCTIONS && fake.names[i]; i++) {
        calls += strcmp(fake.names[i], function) == 0 ? fake.counts[i] : 0;
    }
    pthread_mutex_unlock(&fake.lock);
    return calls;
}

FAKE_API void fake_cuda_hold_events(bool hold)
{
    pthread_mutex_lock(&fake.lock);
    fake.holding = hold;
    if (!hold) {
        finish_events();
    }
    pthread_mutex_unlock(&fake.lock);
}

FAKE_API void fake_cuda_capture(void *stream, bool begin)
{
    pthread_mutex_lock(&fake.lock);
    void *from = begin ? NULL : stream;
    for (int i = 0; i < MAX_CAPTURES; i++) {
        if (fake.capturing[i] == from) {
            fake.capturing[i] = begin ? stream : NULL;
            fake.capture_id[i] = begin ? ++fake.next_capture : 0;
            break;
        }
    }
    pthread_mutex_unlock(&fake.lock);
}

FAKE_API void fake_cuda_stream(void *stream, int device)
{
    pthread_mutex_lock(&fake.lock);
    int i = 0;
    while (i < fake.n_streams && fake.stream[i] != stream) {
        i++;
    }
    if (i < MAX_STREAMS) {
        fake.n_streams = i == fake.n_streams ? i + 1 : fake.n_streams;
        fake.stream[i] = stream;
        fake.stream_device[i] = device;
    }
    pthread_mutex_unlock(&fake.lock);
}

FAKE_API void fake_cuda_shut_down(void)
{
    pthread_mutex_lock(&fake.lock);
    fake.shut_down = true;
    pthread_mutex_unlock(&fake.lock);
}

FAKE_API uint64_t fake_cuda_used(int device)
{
    pthread_mutex_lock(&fake.lock);
    uint64_t used = fake.used[device];
    pthread_mutex_unlock(&fake.lock);
    return used;
}

FAKE_API void fake_cuda_take(int device, uint64_t bytes)
{
    pthread_mutex_lock(&fake.lock);
    fake.used[device] += bytes;
    pthread_mutex_unlock(&fake.lock);
}

FAKE_API size_t fake_cuda_open_things(void)
{
    pthread_mutex_lock(&fake.lock);
    size_t n = fake.n;
    pthread_mutex_unlock(&fake.lock);
    return n;
}

FAKE_API const char *fake_cuda_complaint(void)
{
    return fake.complaint;
}
