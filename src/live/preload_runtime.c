/* SPDX-License-Identifier: MIT */
/* The watchers of the CUDA runtime: they stand in front of libcudart because a preloaded library
 * comes first. */
#include "preload.h"
#include "preload_doors.h"

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

MT_DOOR int cudaMalloc(void **ptr, size_t size)
{
    MT_REAL(RT_MALLOC, (void **, size_t));
    if (!mt_preload_enter()) {
        return real(ptr, size);
    }
    return done(real(ptr, size), ptr, size, NULL);
}

MT_DOOR int cudaMallocManaged(void **ptr, size_t size, unsigned flags)
{
    MT_REAL(RT_MALLOC_MANAGED, (void **, size_t, unsigned));
    if (!mt_preload_enter()) {
        return real(ptr, size, flags);
    }
    return done(real(ptr, size, flags), ptr, size, NULL);
}

MT_DOOR int cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
    MT_REAL(RT_MALLOC_PITCH, (void **, size_t *, size_t, size_t));
    if (!mt_preload_enter()) {
        return real(ptr, pitch, width, height);
    }
    int result = real(ptr, pitch, width, height);
    return done(result, ptr, (result == 0 ? *pitch : width) * height, NULL);
}

MT_DOOR int cudaMallocAsync(void **ptr, size_t size, void *stream)
{
    MT_REAL(RT_MALLOC_ASYNC, (void **, size_t, void *));
    if (!mt_preload_enter()) {
        return real(ptr, size, stream);
    }
    return done(real(ptr, size, stream), ptr, size, stream);
}

MT_DOOR int cudaMallocAsync_ptsz(void **ptr, size_t size, void *stream)
{
    MT_REAL(RT_MALLOC_ASYNC_PTSZ, (void **, size_t, void *));
    if (!mt_preload_enter()) {
        return real(ptr, size, stream);
    }
    return done(real(ptr, size, stream), ptr, size, stream);
}

MT_DOOR int cudaFree(void *ptr)
{
    struct mt_preload_taken taken;
    MT_REAL(RT_FREE, (void *));
    if (!ptr || !mt_preload_enter()) {
        return real(ptr);
    }
    mt_preload_take((uintptr_t)ptr, &taken);
    int result = real(ptr);
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
    MT_REAL(RT_FREE_ASYNC, (void *, void *));
    return free_async(real, ptr, stream);
}

MT_DOOR int cudaFreeAsync_ptsz(void *ptr, void *stream)
{
    MT_REAL(RT_FREE_ASYNC_PTSZ, (void *, void *));
    return free_async(real, ptr, stream);
}

/* ---- the driver's functions, as the runtime gives them out ---- */

enum { OLDEST_ENTRY_POINTS = 11030 }; /* the release that brought the call without a version */

MT_DOOR int cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                    int *status)
{
    MT_REAL(RT_ENTRY_POINT, (const char *, void **, unsigned long long, int *));
    int result = real(symbol, function, flags, status); /* before CUDA 12 without the last one */
    if (result == 0 && function) {
        *function = mt_preload_replace_proc(symbol, *function, OLDEST_ENTRY_POINTS, flags);
    }
    return result;
}

MT_DOOR int cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                             unsigned long long flags, int *status)
{
    MT_REAL(RT_ENTRY_POINT_VERSION, (const char *, void **, unsigned, unsigned long long, int *));
    int result = real(symbol, function, version, flags, status);
    if (result == 0 && function) {
        *function = mt_preload_replace_proc(symbol, *function, (int)version, flags);
    }
    return result;
}
