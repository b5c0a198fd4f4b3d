/* SPDX-License-Identifier: MIT */
/*
 * Mode cache: the runtime's requests are served by memtool's caching allocator. A program may rely
 * on what the real calls do, so what differs from them is kept small:
 *
 * - cudaFree waits for the device. The real one does in practice, and programs count on it: the
 *   memory may be handed out again at once, to any stream, and what was queued before is done.
 * - cudaFreeAsync never waits. Memory that is freed from its own stream serves that stream again,
 *   in the order of its work; freed from another one, it is kept until an event there is done.
 * - cudaMalloc's memory belongs to no stream, cudaMallocAsync's to the stream that was named.
 * - A request on the default stream queues an event there, which keeps the order that the real one
 *   keeps with all blocking streams.
 * - While a stream is being captured into a graph nothing is served: requests go to the real
 *   functions, which make nodes of the graph of them, and frees of the cache's memory are put off
 *   until no capture is left, because waiting for the device would break it.
 * - A stream's handle may come again for another stream, so one that has had memory is waited for
 *   before it is destroyed.
 * - Passed on are requests on a thread's own default stream, whose handle does not say which it is,
 *   in a context that is not the runtime's, and for a stream of another device.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "live/core/live.h"
#include "live/core/live_cache.h"
#include "live/preload/preload.h"
#include "live/preload/preload_device.h"
#include "support/compiler.h"
#include "support/vec.h"

/* cudaError_t, which has the numbers of CUresult */
enum {
    DONE = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    FIRST_OF_CAPTURES = 900, /* ..StreamCaptureUnsupported and what follows */
    LAST_OF_CAPTURES = 909,
    UNKNOWN_ERROR = 999
};

/* Handles with a meaning: cudaStreamLegacy, cudaStreamPerThread. */
enum { LEGACY = 1, PER_THREAD = 2 };

/* Requests from here on the policy refuses without asking the device. */
#define TOO_MUCH ((size_t)1 << 60)

struct device_stream {
    uint64_t stream;
    int device;
};

struct put_off {
    uint64_t addr;
    int device;
};

static struct {
    pthread_mutex_t lock; /* taken before the allocator's, never while something is waited for */
    MT_VEC(struct device_stream) captures; /* streams that are being captured */
    MT_VEC(struct device_stream) streams;  /* that have had memory */
    MT_VEC(struct put_off) put_off;        /* frees */
    _Atomic size_t n_captures, n_put_off;
    _Atomic uint64_t started; /* bits of devices that the runtime has started */
} book = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- captures and streams ---- */

static uint64_t stream_number(const void *stream)
{
    return stream ? (uintptr_t)stream : LEGACY;
}

static bool capturing(void)
{
    return atomic_load_explicit(&book.n_captures, memory_order_acquire) > 0;
}

void mt_preload_capture_begun(void *stream)
{
    if (mt_preload_live()) {
        const struct device_stream capture = {(uintptr_t)stream, mt_preload_device()};
        pthread_mutex_lock(&book.lock);
        if (mt_vec_push(&book.captures, capture)) {
            atomic_store(&book.n_captures, book.captures.n);
        }
        pthread_mutex_unlock(&book.lock);
    }
}

static bool is_captured(uint64_t stream)
{
    bool found = false;
    pthread_mutex_lock(&book.lock);
    for (size_t i = 0; !found && i < book.captures.n; i++) {
        found = book.captures.v[i].stream == stream;
    }
    pthread_mutex_unlock(&book.lock);
    return found;
}

void mt_preload_capture_ended(void *stream)
{
    if (!capturing()) {
        return;
    }
    pthread_mutex_lock(&book.lock);
    for (size_t i = 0; i < book.captures.n; i++) {
        if (book.captures.v[i].stream == (uintptr_t)stream) {
            book.captures.v[i] = book.captures.v[--book.captures.n];
            break;
        }
    }
    atomic_store(&book.n_captures, book.captures.n);
    pthread_mutex_unlock(&book.lock);
}

/* False when out of memory. */
static bool note_stream(uint64_t stream, int device)
{
    const struct device_stream used = {stream, device};
    bool known = stream == LEGACY;
    pthread_mutex_lock(&book.lock);
    for (size_t i = 0; !known && i < book.streams.n; i++) {
        known = book.streams.v[i].stream == stream;
    }
    bool done = known || mt_vec_push(&book.streams, used);
    pthread_mutex_unlock(&book.lock);
    return done;
}

void mt_preload_stream_ends(void *stream)
{
    struct mt_live *live = mt_preload_live();
    struct mt_device_cuda *cuda = NULL;
    struct mt_error err;
    int device = -1;
    if (!live) {
        return;
    }
    mt_preload_capture_ended(stream);
    pthread_mutex_lock(&book.lock);
    for (size_t i = 0; i < book.streams.n; i++) {
        if (book.streams.v[i].stream == (uintptr_t)stream) {
            device = book.streams.v[i].device;
            book.streams.v[i] = book.streams.v[--book.streams.n];
            break;
        }
    }
    pthread_mutex_unlock(&book.lock);
    if (device >= 0 && mt_cache_device(live, device, &cuda, &err) == MT_OK) {
        (void)!mt_device_cuda_sync_stream(cuda, (uintptr_t)stream);
    }
}

#define DROP_OF_DEVICE(vec, d)                                                                     \
    do {                                                                                           \
        size_t kept_ = 0;                                                                          \
        for (size_t i_ = 0; i_ < (vec)->n; i_++) {                                                 \
            if ((vec)->v[i_].device != (d)) {                                                      \
                (vec)->v[kept_++] = (vec)->v[i_];                                                  \
            }                                                                                      \
        }                                                                                          \
        (vec)->n = kept_;                                                                          \
    } while (0)

void mt_preload_cache_forget(int device)
{
    struct mt_live *live = mt_preload_live();
    if (!live) {
        return;
    }
    pthread_mutex_lock(&book.lock);
    DROP_OF_DEVICE(&book.captures, device);
    DROP_OF_DEVICE(&book.streams, device);
    DROP_OF_DEVICE(&book.put_off, device);
    atomic_store(&book.n_captures, book.captures.n);
    atomic_store(&book.n_put_off, book.put_off.n);
    pthread_mutex_unlock(&book.lock);
    mt_cache_forget(live, device);
}

/* ---- frees ---- */

static bool broke_on_capture(int result)
{
    return result >= FIRST_OF_CAPTURES && result <= LAST_OF_CAPTURES;
}

/* A second free of the same memory is the program's mistake: the block is still there. */
static int put_off(uint64_t addr, int device)
{
    const struct put_off p = {addr, device};
    bool known = false;
    pthread_mutex_lock(&book.lock);
    for (size_t i = 0; !known && i < book.put_off.n; i++) {
        known = book.put_off.v[i].addr == addr;
    }
    bool done = known || mt_vec_push(&book.put_off, p);
    atomic_store(&book.n_put_off, book.put_off.n);
    pthread_mutex_unlock(&book.lock);
    return known ? INVALID_VALUE : done ? DONE : OUT_OF_MEMORY;
}

static int result_of(enum mt_status status)
{
    switch (status) {
    case MT_OK: return DONE;
    case MT_NOT_FOUND: return INVALID_VALUE;
    case MT_NOMEM: return OUT_OF_MEMORY;
    default: return UNKNOWN_ERROR;
    }
}

/* Once nothing on the device uses it any more. */
static int free_idle(struct mt_live *live, uint64_t addr, int device, uint32_t stack)
{
    struct mt_device_cuda *cuda = NULL;
    struct mt_error err;
    enum mt_status status = mt_cache_device(live, device, &cuda, &err);
    if (status != MT_OK) {
        return result_of(status);
    }
    int result = mt_device_cuda_sync(cuda);
    if (result != DONE) {
        return broke_on_capture(result) ? put_off(addr, device) : result;
    }
    return result_of(mt_cache_free(live, device, addr, MT_CACHE_NO_STREAM, stack, &err));
}

/* Frees what was put off, when no capture is left. */
static void catch_up(struct mt_live *live)
{
    if (MT_LIKELY(atomic_load_explicit(&book.n_put_off, memory_order_relaxed) == 0) ||
        capturing()) {
        return;
    }
    pthread_mutex_lock(&book.lock);
    size_t n = book.put_off.n;
    pthread_mutex_unlock(&book.lock);
    for (; n > 0; n--) { /* what cannot be freed yet is put off anew, behind */
        struct put_off p = {0};
        pthread_mutex_lock(&book.lock);
        if (book.put_off.n > 0) {
            p = book.put_off.v[0];
            book.put_off.v[0] = book.put_off.v[--book.put_off.n];
            atomic_store(&book.n_put_off, book.put_off.n);
        }
        pthread_mutex_unlock(&book.lock);
        if (p.addr != 0) {
            (void)free_idle(live, p.addr, p.device, 0);
        }
    }
}

/* Where the memory is the cache's, but no block begins, *result is an error already: the real
 * function would take a whole segment for what is meant. */
static bool owned(struct mt_live *live, const void *ptr, struct mt_cache_place *place, int *result)
{
    catch_up(live);
    *result = DONE;
    if (!mt_cache_find(live, (uintptr_t)ptr, place)) {
        *result = OUT_OF_MEMORY;
        return true;
    }
    if (place->owned && !place->block) {
        *result = INVALID_VALUE;
    }
    return place->owned;
}

bool mt_preload_cache_give(void *ptr, int *result)
{
    struct mt_live *live = ptr ? mt_preload_live() : NULL;
    struct mt_cache_place place;
    if (!live) {
        return false;
    }
    bool ours = owned(live, ptr, &place, result);
    if (ours && *result == DONE) {
        *result = capturing()
                      ? put_off((uintptr_t)ptr, place.device)
                      : free_idle(live, (uintptr_t)ptr, place.device, mt_preload_stack(true));
    }
    return ours;
}

/* From another stream than its own. */
static int free_from(struct mt_live *live, const struct mt_cache_place *place, uint64_t addr,
                     uint64_t stream, uint32_t stack)
{
    struct mt_device_cuda *cuda = NULL;
    struct mt_error err;
    enum mt_status status = mt_cache_device(live, place->device, &cuda, &err);
    if (status == MT_OK && !mt_device_cuda_has_stream(cuda, stream)) {
        int result = mt_device_cuda_sync_stream(cuda, stream);
        return result != DONE ? result
                              : result_of(mt_cache_free(live, place->device, addr,
                                                        MT_CACHE_NO_STREAM, stack, &err));
    }
    if (status == MT_OK) {
        status = mt_cache_free(live, place->device, addr, stream, stack, &err);
    }
    return result_of(status);
}

static int free_async(struct mt_live *live, const struct mt_cache_place *place, uint64_t addr,
                      uint64_t stream)
{
    struct mt_error err;
    if (capturing()) { /* a graph frees only what it has taken */
        return is_captured(stream) ? INVALID_VALUE : put_off(addr, place->device);
    }
    uint32_t stack = mt_preload_stack(true);
    if (stream == place->stream) {
        return result_of(mt_cache_free(live, place->device, addr, MT_CACHE_NO_STREAM, stack, &err));
    }
    return free_from(live, place, addr, stream, stack);
}

bool mt_preload_cache_give_async(void *ptr, void *stream, int *result)
{
    struct mt_live *live = ptr ? mt_preload_live() : NULL;
    struct mt_cache_place place;
    if (!live) {
        return false;
    }
    bool ours = owned(live, ptr, &place, result);
    if (ours && *result == DONE) {
        *result = free_async(live, &place, (uintptr_t)ptr, stream_number(stream));
    }
    return ours;
}

/* ---- requests ---- */

/* The runtime makes the context, before the cache takes anything: what the context costs is then
 * known as in mode record. */
static void start(int device, int (*wake)(void *))
{
    uint64_t bit = device >= 0 && device < 64 ? UINT64_C(1) << device : 0;
    if (MT_UNLIKELY(!(atomic_load_explicit(&book.started, memory_order_relaxed) & bit))) {
        (void)wake(NULL);
        mt_preload_look();
        atomic_fetch_or(&book.started, bit);
    }
}

/* The device that the runtime would take memory of, ready, with its context the thread's current
 * one; NULL: the request is none for the cache. The runtime may start here, and is to be watched
 * from then on: this is no work of memtool's own. */
static struct mt_device_cuda *current(struct mt_live *live, int *device)
{
    int (*get)(int *) = (int (*)(int *))mt_preload_real(MT_CALL_RT_GET_DEVICE);
    int (*wake)(void *) = (int (*)(void *))mt_preload_real(MT_CALL_RT_FREE);
    struct mt_device_cuda *cuda = NULL;
    struct mt_error err;
    if (!get || !wake || get(device) != DONE) {
        return NULL;
    }
    start(*device, wake);
    if (mt_cache_device(live, *device, &cuda, &err) != MT_OK) {
        return NULL;
    }
    if (MT_LIKELY(mt_device_cuda_current(cuda) == MT_CUDA_CURRENT_OWN)) {
        return cuda;
    }
    /* a thread's first call: cudaFree(NULL) makes its context current, as a request would */
    bool own = wake(NULL) == DONE && mt_device_cuda_current(cuda) == MT_CUDA_CURRENT_OWN;
    return own ? cuda : NULL;
}

static enum mt_preload_answer serve(struct mt_live *live, int device, uint64_t stream, size_t size,
                                    void **ptr)
{
    struct mt_error err;
    uint64_t addr = 0;
    uint32_t stack = mt_preload_stack(false);
    enum mt_status status = mt_cache_allocate(live, device, size, stream, stack, &addr, &err);
    if (status == MT_OK) {
        *ptr = (void *)(uintptr_t)addr;
        return MT_PRELOAD_SERVED;
    }
    return status == MT_DEVICE_OOM ? MT_PRELOAD_REFUSED : MT_PRELOAD_PASS;
}

static bool for_cache(const struct mt_live *live, void *const *ptr, size_t size)
{
    return live && ptr && size > 0 && size < TOO_MUCH && !capturing();
}

enum mt_preload_answer mt_preload_cache_take(void **ptr, size_t size)
{
    struct mt_live *live = mt_preload_live();
    enum mt_preload_answer answer = MT_PRELOAD_PASS;
    int device = 0;
    if (!for_cache(live, ptr, size)) {
        return MT_PRELOAD_PASS;
    }
    catch_up(live);
    if (current(live, &device)) {
        answer = serve(live, device, MT_CACHE_NO_STREAM, size, ptr);
    }
    return answer;
}

enum mt_preload_answer mt_preload_cache_take_async(void **ptr, size_t size, void *stream)
{
    struct mt_live *live = mt_preload_live();
    enum mt_preload_answer answer = MT_PRELOAD_PASS;
    uint64_t number = stream_number(stream);
    int device = 0;
    if (!for_cache(live, ptr, size) || number == PER_THREAD) {
        return MT_PRELOAD_PASS;
    }
    catch_up(live);
    const struct mt_device_cuda *cuda = current(live, &device);
    if (cuda && mt_device_cuda_has_stream(cuda, number) && note_stream(number, device)) {
        answer = serve(live, device, number, size, ptr);
    }
    return answer;
}

bool mt_preload_cache_made_room(int result, bool by_driver)
{
    struct mt_live *live = result == OUT_OF_MEMORY ? mt_preload_live() : NULL;
    struct mt_error err;
    uint64_t released = 0;
    if (!live || capturing()) {
        return false;
    }
    (void)!mt_cache_release_idle(live, &released, &err);
    if (released == 0) {
        return false;
    }
    int (*forget)(void) = by_driver ? NULL : (int (*)(void))mt_preload_real(MT_CALL_RT_LAST_ERROR);
    if (forget) {
        (void)forget();
    }
    return true;
}
