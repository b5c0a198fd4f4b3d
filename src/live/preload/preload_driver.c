/* SPDX-License-Identifier: MIT */
/*
 * The watchers of the CUDA driver. Programs that link libcuda find them because they come first;
 * those that ask dlsym or cuGetProcAddress are given them.
 */
#include <stdio.h>
#include <string.h>

#include "live/core/recorder.h"
#include "live/preload/preload.h"
#include "live/preload/preload_device.h"
#include "live/preload/preload_doors.h"

/* The beginning of CUmemAllocationProp, of cuda.h 13.0. */
struct page_prop {
    int type, handle_types;
    int location_type;
    int device;
};

enum { ON_DEVICE = 1 };

static int done(int result, const uint64_t *addr, size_t size, const void *stream)
{
    const struct mt_preload_request r = {.result = result,
                                         .device = -1,
                                         .addr = result == 0 ? *addr : 0,
                                         .size = size,
                                         .stream = (uintptr_t)stream,
                                         .by_driver = true};
    mt_preload_allocated(&r);
    mt_preload_leave();
    return result;
}

MT_DOOR int cuMemAlloc_v2(uint64_t *addr, size_t size)
{
    MT_REAL(CU_ALLOC, (uint64_t *, size_t));
    mt_preload_look();
    if (!mt_preload_enter()) {
        return real(addr, size);
    }
    MT_RESULT(true, real(addr, size))
    return done(result, addr, size, NULL);
}

MT_DOOR int cuMemAllocManaged(uint64_t *addr, size_t size, unsigned flags)
{
    MT_REAL(CU_ALLOC_MANAGED, (uint64_t *, size_t, unsigned));
    mt_preload_look();
    if (!mt_preload_enter()) {
        return real(addr, size, flags);
    }
    MT_RESULT(true, real(addr, size, flags))
    return done(result, addr, size, NULL);
}

MT_DOOR int cuMemAllocPitch_v2(uint64_t *addr, size_t *pitch, size_t width, size_t height,
                               unsigned element)
{
    MT_REAL(CU_ALLOC_PITCH, (uint64_t *, size_t *, size_t, size_t, unsigned));
    mt_preload_look();
    if (!mt_preload_enter()) {
        return real(addr, pitch, width, height, element);
    }
    MT_RESULT(true, real(addr, pitch, width, height, element))
    return done(result, addr, (result == 0 ? *pitch : width) * height, NULL);
}

/* Also when the runtime is watched: the pool is the driver's. */
static void look_at_pool(void)
{
    mt_preload_look();
    if (mt_preload_on() && !mt_preload_own()) {
        mt_preload_pool_used();
    }
}

MT_DOOR int cuMemAllocAsync(uint64_t *addr, size_t size, void *stream)
{
    MT_REAL(CU_ALLOC_ASYNC, (uint64_t *, size_t, void *));
    look_at_pool();
    if (!mt_preload_enter()) {
        return real(addr, size, stream);
    }
    MT_RESULT(true, real(addr, size, stream))
    return done(result, addr, size, stream);
}

MT_DOOR int cuMemAllocAsync_ptsz(uint64_t *addr, size_t size, void *stream)
{
    MT_REAL(CU_ALLOC_ASYNC_PTSZ, (uint64_t *, size_t, void *));
    look_at_pool();
    if (!mt_preload_enter()) {
        return real(addr, size, stream);
    }
    MT_RESULT(true, real(addr, size, stream))
    return done(result, addr, size, stream);
}

MT_DOOR int cuMemFree_v2(uint64_t addr)
{
    struct mt_preload_taken taken;
    MT_REAL(CU_FREE, (uint64_t));
    if (addr == 0 || !mt_preload_enter()) {
        return real(addr);
    }
    mt_preload_take(addr, &taken);
    int result = real(addr);
    mt_preload_freed(&taken, result);
    mt_preload_leave();
    return result;
}

static int free_async(int (*real)(uint64_t, void *), uint64_t addr, void *stream)
{
    struct mt_preload_taken taken;
    if (addr == 0 || !mt_preload_enter()) {
        return real(addr, stream);
    }
    mt_preload_take(addr, &taken);
    int result = real(addr, stream);
    mt_preload_freed(&taken, result);
    mt_preload_leave();
    return result;
}

MT_DOOR int cuMemFreeAsync(uint64_t addr, void *stream)
{
    MT_REAL(CU_FREE_ASYNC, (uint64_t, void *));
    return free_async(real, addr, stream);
}

MT_DOOR int cuMemFreeAsync_ptsz(uint64_t addr, void *stream)
{
    MT_REAL(CU_FREE_ASYNC_PTSZ, (uint64_t, void *));
    return free_async(real, addr, stream);
}

/* ---- physical memory and its mappings ---- */

MT_DOOR int cuMemCreate(uint64_t *handle, size_t size, const void *prop, unsigned long long flags)
{
    const struct page_prop *p = prop;
    MT_REAL(CU_CREATE, (uint64_t *, size_t, const void *, unsigned long long));
    mt_preload_look();
    if (!p || !mt_preload_enter()) {
        return real(handle, size, prop, flags);
    }
    MT_RESULT(true, real(handle, size, prop, flags))
    const struct mt_preload_request r = {.result = result,
                                         .device = p->location_type == ON_DEVICE ? p->device
                                                                                 : MT_RECORD_HOST,
                                         .size = size,
                                         .by_driver = true};
    mt_preload_page_created(&r, result == 0 ? *handle : 0);
    mt_preload_leave();
    return result;
}

MT_DOOR int cuMemRelease(uint64_t handle)
{
    MT_REAL(CU_RELEASE, (uint64_t));
    if (mt_preload_enter()) {
        mt_preload_page_released(handle);
        mt_preload_leave();
    }
    return real(handle);
}

MT_DOOR int cuMemRetainAllocationHandle(uint64_t *handle, void *addr)
{
    MT_REAL(CU_RETAIN, (uint64_t *, void *));
    int result = real(handle, addr);
    if (result == 0 && mt_preload_enter()) {
        mt_preload_page_retained(*handle);
        mt_preload_leave();
    }
    return result;
}

MT_DOOR int cuMemMap(uint64_t addr, size_t size, size_t offset, uint64_t handle,
                     unsigned long long flags)
{
    MT_REAL(CU_MAP, (uint64_t, size_t, size_t, uint64_t, unsigned long long));
    int result = real(addr, size, offset, handle, flags);
    if (result == 0 && mt_preload_enter()) {
        mt_preload_page_mapped(addr, handle);
        mt_preload_leave();
    }
    return result;
}

MT_DOOR int cuMemUnmap(uint64_t addr, size_t size)
{
    MT_REAL(CU_UNMAP, (uint64_t, size_t));
    if (mt_preload_enter()) {
        mt_preload_page_unmapped(addr, size);
        mt_preload_leave();
    }
    return real(addr, size);
}

/* ---- looking functions up ---- */

/* The names that dlsym has another form for: since this release the name means that form. */
static const struct {
    const char *asked, *symbol;
    int since;
} forms[] = {
    {"cuMemAlloc", "cuMemAlloc_v2", 3020},
    {"cuMemFree", "cuMemFree_v2", 3020},
    {"cuMemAllocPitch", "cuMemAllocPitch_v2", 3020},
    {"cuStreamBeginCapture", "cuStreamBeginCapture_v2", 10010},
    {"cuStreamDestroy", "cuStreamDestroy_v2", 4000},
    {"cuMemAllocHost", "cuMemAllocHost_v2", 3020},
    {"cuMemHostRegister", "cuMemHostRegister_v2", 6050},
    {"cuArrayCreate", "cuArrayCreate_v2", 3020},
    {"cuArray3DCreate", "cuArray3DCreate_v2", 3020},
    {"cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2", 11000},
    {"cuGetProcAddress", "cuGetProcAddress_v2", 12000},
};

/* The names with a variant for a default stream of each thread. */
static bool has_own_stream(const char *symbol)
{
    static const char *const names[] = {"cuMemAllocAsync",         "cuMemFreeAsync",
                                        "cuMemAllocFromPoolAsync", "cuLaunchKernel",
                                        "cuLaunchKernelEx",        "cuLaunchCooperativeKernel",
                                        "cuStreamBeginCapture_v2", "cuStreamBeginCaptureToGraph",
                                        "cuStreamEndCapture"};
    size_t i = 0;
    while (i < sizeof names / sizeof names[0] && strcmp(names[i], symbol) != 0) {
        i++;
    }
    return i < sizeof names / sizeof names[0];
}

void *mt_preload_replace_proc(const char *symbol, void *function, int version,
                              unsigned long long flags)
{
    enum { PER_THREAD_STREAM = 2 };
    char own_stream[64];
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (strcmp(symbol, forms[i].asked) == 0 && version >= forms[i].since) {
            symbol = forms[i].symbol;
            break;
        }
    }
    if ((flags & PER_THREAD_STREAM) && has_own_stream(symbol)) {
        snprintf(own_stream, sizeof own_stream, "%s_ptsz", symbol);
        symbol = own_stream;
    }
    return mt_preload_replace(symbol, function);
}

/* The release before 12.0 has no `status`; who asks the runtime for this name gets either form, so
 * what the caller passed there is passed on. */
MT_DOOR int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags,
                             int *status)
{
    MT_REAL(CU_PROC, (const char *, void **, int, uint64_t, int *));
    int result = real(symbol, function, version, flags, status);
    if (result == 0 && function) {
        *function = mt_preload_replace_proc(symbol, *function, version, flags);
    }
    return result;
}

MT_DOOR int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
                                int *status)
{
    MT_REAL(CU_PROC_V2, (const char *, void **, int, uint64_t, int *));
    int result = real(symbol, function, version, flags, status);
    if (result == 0 && function) {
        *function = mt_preload_replace_proc(symbol, *function, version, flags);
    }
    return result;
}

/* ---- the table ---- */

#define RUNTIME(symbol) (mt_preload_function)(symbol)
#define DRIVER(symbol) (mt_preload_function)(symbol)
#define RUNTIME_ASKED(symbol) NULL
#define UNWATCHED(symbol) NULL

static const mt_preload_function WATCHERS[MT_CALL_COUNT] = {
#define X(id, symbol, lives) [MT_CALL_##id] = lives(symbol),
    MT_PRELOAD_CALLS(X)
#undef X
};

mt_preload_function mt_preload_watcher(enum mt_preload_call call)
{
    return WATCHERS[call];
}
