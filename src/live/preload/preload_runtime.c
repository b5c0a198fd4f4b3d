/* SPDX-License-Identifier: MIT */
/* The watchers of the CUDA runtime: they stand in front of libcudart because a preloaded library
 * comes first. */
#include "live/preload/preload.h"
#include "live/preload/preload_doors.h"

enum { OUT_OF_MEMORY = 2 }; /* cudaErrorMemoryAllocation */

static int done(int result, void *const *ptr, size_t size, const void *stream)
{
    const struct mt_preload_request r = {.result = result,
                                         .device = -1,
                                         .addr = result == 0 ? (uintptr_t)*ptr : 0,
                                         .size = size,
                                         .stream = (uintptr_t)stream};
    mt_preload_allocated(&r);
    mt_preload_leave();
    return result;
}

/* After the cache did not serve it. */
static int done_after(enum mt_preload_answer answer, int result, void *const *ptr, size_t size,
                      const void *stream)
{
    if (answer == MT_PRELOAD_REFUSED && result == OUT_OF_MEMORY) {
        mt_preload_leave();
        mt_preload_refused();
        return result;
    }
    return done(result, ptr, size, stream);
}

/* What the cache refuses the runtime is asked for itself, whose answer then stands in
 * cudaGetLastError as well. */
MT_DOOR int cudaMalloc(void **ptr, size_t size)
{
    MT_REAL(RT_MALLOC, (void **, size_t));
    enum mt_preload_answer answer = mt_preload_cache_take(ptr, size);
    if (answer == MT_PRELOAD_SERVED) {
        return 0;
    }
    if (!mt_preload_enter()) {
        return real(ptr, size);
    }
    return done_after(answer, real(ptr, size), ptr, size, NULL);
}

MT_DOOR int cudaMallocManaged(void **ptr, size_t size, unsigned flags)
{
    MT_REAL(RT_MALLOC_MANAGED, (void **, size_t, unsigned));
    if (!mt_preload_enter()) {
        return real(ptr, size, flags);
    }
    MT_RESULT(false, real(ptr, size, flags))
    return done(result, ptr, size, NULL);
}

MT_DOOR int cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
    MT_REAL(RT_MALLOC_PITCH, (void **, size_t *, size_t, size_t));
    if (!mt_preload_enter()) {
        return real(ptr, pitch, width, height);
    }
    MT_RESULT(false, real(ptr, pitch, width, height))
    return done(result, ptr, (result == 0 ? *pitch : width) * height, NULL);
}

MT_DOOR int cudaMallocAsync(void **ptr, size_t size, void *stream)
{
    MT_REAL(RT_MALLOC_ASYNC, (void **, size_t, void *));
    enum mt_preload_answer answer = mt_preload_cache_take_async(ptr, size, stream);
    if (answer == MT_PRELOAD_SERVED) {
        return 0;
    }
    if (!mt_preload_enter()) {
        return real(ptr, size, stream);
    }
    MT_RESULT(false, real(ptr, size, stream)) /* a refusal of the cache has left nothing idle */
    return done_after(answer, result, ptr, size, stream);
}

/* In the form for a default stream of each thread NULL means that stream. */
static void *own_stream(void *stream)
{
    enum { PER_THREAD = 2 }; /* cudaStreamPerThread */
    return stream ? stream : (void *)(uintptr_t)PER_THREAD;
}

MT_DOOR int cudaMallocAsync_ptsz(void **ptr, size_t size, void *stream)
{
    MT_REAL(RT_MALLOC_ASYNC_PTSZ, (void **, size_t, void *));
    enum mt_preload_answer answer = mt_preload_cache_take_async(ptr, size, own_stream(stream));
    if (answer == MT_PRELOAD_SERVED) {
        return 0;
    }
    if (!mt_preload_enter()) {
        return real(ptr, size, stream);
    }
    MT_RESULT(false, real(ptr, size, stream)) /* a refusal of the cache has left nothing idle */
    return done_after(answer, result, ptr, size, stream);
}

MT_DOOR int cudaFree(void *ptr)
{
    struct mt_preload_taken taken;
    int result;
    MT_REAL(RT_FREE, (void *));
    if (mt_preload_cache_give(ptr, &result)) {
        return result;
    }
    if (!ptr || !mt_preload_enter()) {
        return real(ptr);
    }
    mt_preload_take((uintptr_t)ptr, &taken);
    result = real(ptr);
    mt_preload_freed(&taken, result);
    mt_preload_leave();
    return result;
}

static int free_async(int (*real)(void *, void *), void *ptr, void *stream)
{
    struct mt_preload_taken taken;
    if (!ptr || !mt_preload_enter()) {
        return real(ptr, stream);
    }
    mt_preload_take((uintptr_t)ptr, &taken);
    int result = real(ptr, stream);
    mt_preload_freed(&taken, result);
    mt_preload_leave();
    return result;
}

MT_DOOR int cudaFreeAsync(void *ptr, void *stream)
{
    int result;
    MT_REAL(RT_FREE_ASYNC, (void *, void *));
    if (mt_preload_cache_give_async(ptr, stream, &result)) {
        return result;
    }
    return free_async(real, ptr, stream);
}

MT_DOOR int cudaFreeAsync_ptsz(void *ptr, void *stream)
{
    int result;
    MT_REAL(RT_FREE_ASYNC_PTSZ, (void *, void *));
    if (mt_preload_cache_give_async(ptr, own_stream(stream), &result)) {
        return result;
    }
    return free_async(real, ptr, stream);
}

/* ---- the driver's functions, as the runtime gives them out ---- */

enum { OLDEST_ENTRY_POINTS = 11030 }; /* the release that brought the call without a version */

static int given(int result, const char *symbol, void **function, unsigned version,
                 unsigned long long flags)
{
    if (result == 0 && function) {
        *function = mt_preload_replace_proc(symbol, *function, (int)version, flags);
    }
    return result;
}

/* In programs that are compiled with a default stream for each thread, no flag means that kind. */
static unsigned long long of_own_stream(unsigned long long flags)
{
    enum { PER_THREAD_STREAM = 2 };
    return flags == 0 ? PER_THREAD_STREAM : flags;
}

/* Before CUDA 12 without the last argument. */
MT_DOOR int cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                    int *status)
{
    MT_REAL(RT_ENTRY_POINT, (const char *, void **, unsigned long long, int *));
    return given(real(symbol, function, flags, status), symbol, function, OLDEST_ENTRY_POINTS,
                 flags);
}

MT_DOOR int cudaGetDriverEntryPoint_ptsz(const char *symbol, void **function,
                                         unsigned long long flags, int *status)
{
    MT_REAL(RT_ENTRY_POINT_PTSZ, (const char *, void **, unsigned long long, int *));
    return given(real(symbol, function, flags, status), symbol, function, OLDEST_ENTRY_POINTS,
                 of_own_stream(flags));
}

MT_DOOR int cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                             unsigned long long flags, int *status)
{
    MT_REAL(RT_ENTRY_POINT_VERSION, (const char *, void **, unsigned, unsigned long long, int *));
    return given(real(symbol, function, version, flags, status), symbol, function, version, flags);
}

MT_DOOR int cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **function,
                                                  unsigned version, unsigned long long flags,
                                                  int *status)
{
    MT_REAL(RT_ENTRY_POINT_VERSION_PTSZ,
            (const char *, void **, unsigned, unsigned long long, int *));
    return given(real(symbol, function, version, flags, status), symbol, function, version,
                 of_own_stream(flags));
}
