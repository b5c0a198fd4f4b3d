/* SPDX-License-Identifier: MIT */
/*
 * The watchers of pinned host memory, of the runtime and the driver. It is no memory of a device:
 * what they see stands under host_segments and host_traces. Memory that a program pins after the
 * fact counts while it is registered.
 */
#include "live/core/recorder.h"
#include "live/preload/preload.h"
#include "live/preload/preload_doors.h"

static int done(int result, const void *ptr, size_t size, bool by_driver)
{
    const struct mt_preload_request r = {.result = result,
                                         .device = MT_RECORD_HOST,
                                         .addr = (uintptr_t)ptr,
                                         .size = size,
                                         .by_driver = by_driver};
    mt_preload_allocated(&r);
    mt_preload_leave();
    return result;
}

static int with_flags(int (*real)(void **, size_t, unsigned), void **ptr, size_t size,
                      unsigned flags, bool by_driver)
{
    if (!mt_preload_enter()) {
        return real(ptr, size, flags);
    }
    int result = real(ptr, size, flags);
    return done(result, result == 0 ? *ptr : NULL, size, by_driver);
}

static int without_flags(int (*real)(void **, size_t), void **ptr, size_t size, bool by_driver)
{
    if (!mt_preload_enter()) {
        return real(ptr, size);
    }
    int result = real(ptr, size);
    return done(result, result == 0 ? *ptr : NULL, size, by_driver);
}

static int pin(int (*real)(void *, size_t, unsigned), void *ptr, size_t size, unsigned flags,
               bool by_driver)
{
    if (!mt_preload_enter()) {
        return real(ptr, size, flags);
    }
    return done(real(ptr, size, flags), ptr, size, by_driver);
}

static int give_back(int (*real)(void *), void *ptr)
{
    struct mt_preload_taken taken;
    if (!ptr || !mt_preload_enter()) {
        return real(ptr);
    }
    mt_preload_take((uintptr_t)ptr, &taken);
    int result = real(ptr);
    mt_preload_freed(&taken, result);
    mt_preload_leave();
    return result;
}

MT_DOOR int cudaHostAlloc(void **ptr, size_t size, unsigned flags)
{
    MT_REAL(RT_HOST_ALLOC, (void **, size_t, unsigned));
    return with_flags(real, ptr, size, flags, false);
}

MT_DOOR int cudaMallocHost(void **ptr, size_t size)
{
    MT_REAL(RT_MALLOC_HOST, (void **, size_t));
    return without_flags(real, ptr, size, false);
}

MT_DOOR int cudaFreeHost(void *ptr)
{
    MT_REAL(RT_FREE_HOST, (void *));
    return give_back(real, ptr);
}

MT_DOOR int cudaHostRegister(void *ptr, size_t size, unsigned flags)
{
    MT_REAL(RT_REGISTER, (void *, size_t, unsigned));
    return pin(real, ptr, size, flags, false);
}

MT_DOOR int cudaHostUnregister(void *ptr)
{
    MT_REAL(RT_UNREGISTER, (void *));
    return give_back(real, ptr);
}

MT_DOOR int cuMemHostAlloc(void **ptr, size_t size, unsigned flags)
{
    MT_REAL(CU_HOST_ALLOC, (void **, size_t, unsigned));
    return with_flags(real, ptr, size, flags, true);
}

MT_DOOR int cuMemAllocHost_v2(void **ptr, size_t size)
{
    MT_REAL(CU_ALLOC_HOST, (void **, size_t));
    return without_flags(real, ptr, size, true);
}

MT_DOOR int cuMemFreeHost(void *ptr)
{
    MT_REAL(CU_FREE_HOST, (void *));
    return give_back(real, ptr);
}

MT_DOOR int cuMemHostRegister_v2(void *ptr, size_t size, unsigned flags)
{
    MT_REAL(CU_REGISTER, (void *, size_t, unsigned));
    return pin(real, ptr, size, flags, true);
}

MT_DOOR int cuMemHostUnregister(void *ptr)
{
    MT_REAL(CU_UNREGISTER, (void *));
    return give_back(real, ptr);
}
