/* SPDX-License-Identifier: MIT */
/* The part of the fake driver through which runtimes reach it: cuGetProcAddress, and what only they
 * call. Stream-ordered memory is given and taken at once. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/device/cuda_driver.h"
#include "fake_cuda.h"

#define FAKE_API __attribute__((visibility("default")))

#define X(member, symbol, need, arguments) FAKE_API int fake_##member arguments __asm__(symbol);
#include "allocator/device/cuda_api.def"
#undef X
FAKE_API int cuCtxGetDevice(int *device);
FAKE_API int cuMemAllocAsync(uint64_t *addr, size_t size, void *stream);
FAKE_API int cuMemFreeAsync(uint64_t addr, void *stream);
FAKE_API int cuStreamBeginCapture_v2(void *stream, int mode);
FAKE_API int cuStreamEndCapture(void *stream, void **graph);
FAKE_API int cuStreamDestroy_v2(void *stream);
FAKE_API int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active);
FAKE_API int cuDevicePrimaryCtxReset_v2(int device);
FAKE_API int cuDeviceGetPCIBusId(char *out, int size, int device);
FAKE_API int cuMemAllocFromPoolAsync(uint64_t *addr, size_t size, void *pool, void *stream);
FAKE_API int cuMemPoolCreate(void **pool, const void *prop);
FAKE_API int cuMemPoolDestroy(void *pool);
FAKE_API int cuMemPoolGetAttribute(void *pool, int attribute, void *value);
FAKE_API int cuArray3DCreate_v2(void **array, const void *wanted);
FAKE_API int cuArrayCreate_v2(void **array, const void *wanted);
FAKE_API int cuArrayDestroy(void *array);
FAKE_API int cuModuleLoadData(void **module, const void *image);
FAKE_API int cuModuleUnload(void *module);
FAKE_API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned shared, void *stream,
                            void **parameters, void **extra);
FAKE_API int cuMemHostAlloc(void **ptr, size_t size, unsigned flags);
FAKE_API int cuMemAllocHost_v2(void **ptr, size_t size);
FAKE_API int cuMemFreeHost(void *ptr);
FAKE_API int cuMemHostRegister_v2(void *ptr, size_t size, unsigned flags);
FAKE_API int cuMemHostUnregister(void *ptr);
FAKE_API int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
                                 int *status);

int cuCtxGetDevice(int *device)
{
    void *ctx = NULL;
    int result = fake_ctx_get_current(&ctx);
    if (result == MT_CUDA_SUCCESS && !ctx) {
        return MT_CUDA_INVALID_CONTEXT;
    }
    *device = (int)((uintptr_t)ctx - 0xc0);
    return result;
}

/* On a stream that is being captured it is a node of the graph, and no call that captures forbid.
 */
int cuMemAllocAsync(uint64_t *addr, size_t size, void *stream)
{
    int mode = MT_CUDA_CAPTURE_MODE_RELAXED, status = 0;
    uint64_t id;
    bool node = fake_stream_capture_info(stream, &status, &id, NULL, NULL, NULL) == 0 && status;
    if (node) {
        fake_thread_capture_mode(&mode);
    }
    int result = fake_mem_alloc(addr, size);
    if (node) {
        fake_thread_capture_mode(&mode);
    }
    return result;
}

int cuStreamBeginCapture_v2(void *stream, int mode)
{
    (void)mode;
    fake_cuda_capture(stream, true);
    return MT_CUDA_SUCCESS;
}

int cuStreamEndCapture(void *stream, void **graph)
{
    fake_cuda_capture(stream, false);
    *graph = NULL;
    return MT_CUDA_SUCCESS;
}

int cuStreamDestroy_v2(void *stream)
{
    (void)stream;
    return MT_CUDA_SUCCESS;
}

int cuMemFreeAsync(uint64_t addr, void *stream)
{
    (void)stream;
    return fake_mem_free(addr);
}

/* ---- the primary context, as others see it ---- */

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    *flags = 0;
    *active = fake_cuda_active(device);
    return MT_CUDA_SUCCESS;
}

int cuDevicePrimaryCtxReset_v2(int device)
{
    fake_cuda_device_reset(device);
    return MT_CUDA_SUCCESS;
}

int cuDeviceGetPCIBusId(char *out, int size, int device)
{
    snprintf(out, (size_t)size, "0000:%02x:00.0", (unsigned)device);
    return MT_CUDA_SUCCESS;
}

/* ---- pools: one for all, of 32 MiB and more ---- */

static _Atomic uint64_t pool_used;

int cuMemAllocFromPoolAsync(uint64_t *addr, size_t size, void *pool, void *stream)
{
    (void)stream;
    int result = pool ? fake_mem_alloc(addr, size) : MT_CUDA_INVALID_VALUE;
    pool_used += result == MT_CUDA_SUCCESS ? size : 0;
    return result;
}

int cuMemPoolCreate(void **pool, const void *prop)
{
    static int handle;
    (void)prop;
    *pool = &handle;
    return MT_CUDA_SUCCESS;
}

int cuMemPoolDestroy(void *pool)
{
    return pool ? MT_CUDA_SUCCESS : MT_CUDA_INVALID_VALUE;
}

int cuMemPoolGetAttribute(void *pool, int attribute, void *value)
{
    uint64_t used = pool_used, reserved = used < 32u << 20 ? 32u << 20 : used;
    memcpy(value, attribute == 5 ? &reserved : &used, sizeof used);
    return pool ? MT_CUDA_SUCCESS : MT_CUDA_INVALID_VALUE;
}

/* ---- arrays: a handle that is no address ---- */

struct descriptor_3d { /* that of 2D arrays has no depth */
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
};

static int make_array(void **array, size_t bytes)
{
    uint64_t addr = 0;
    uint64_t *handle = malloc(sizeof *handle);
    int result = handle ? fake_mem_alloc(&addr, bytes) : MT_CUDA_OUT_OF_MEMORY;
    if (result != MT_CUDA_SUCCESS) {
        free(handle);
        return result;
    }
    *handle = addr;
    *array = handle;
    return result;
}

int cuArray3DCreate_v2(void **array, const void *wanted)
{
    const struct descriptor_3d *d = wanted;
    return make_array(array, d->width * (d->height + !d->height) * (d->depth + !d->depth) *
                                 d->channels * 4);
}

int cuArrayCreate_v2(void **array, const void *wanted)
{
    size_t size[2];
    memcpy(size, wanted, sizeof size);
    return make_array(array, size[0] * (size[1] + !size[1]) * 4);
}

int cuArrayDestroy(void *array)
{
    uint64_t *addr = array;
    int result = fake_mem_free(*addr);
    free(addr);
    return result;
}

/* ---- modules: lazily loaded, 1 MiB at once and 2 MiB at the first launch ---- */

static _Atomic bool launched;

int cuModuleLoadData(void **module, const void *image)
{
    static int handle;
    *module = &handle;
    fake_cuda_take(0, image ? 1 << 20 : 0);
    return image ? MT_CUDA_SUCCESS : MT_CUDA_INVALID_VALUE;
}

int cuModuleUnload(void *module)
{
    fake_cuda_take(0, (uint64_t)-1 << 20);
    return module ? MT_CUDA_SUCCESS : MT_CUDA_INVALID_VALUE;
}

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **parameters, void **extra)
{
    (void)(gx + gy + gz + bx + by + bz + shared);
    (void)(stream && parameters && extra);
    if (!atomic_exchange(&launched, true)) {
        fake_cuda_take(0, 2 << 20);
    }
    return f ? MT_CUDA_SUCCESS : MT_CUDA_INVALID_VALUE;
}

/* ---- pinned memory of the host ---- */

int cuMemHostAlloc(void **ptr, size_t size, unsigned flags)
{
    (void)flags;
    *ptr = size < (size_t)1 << 40 ? malloc(size) : NULL;
    return *ptr ? MT_CUDA_SUCCESS : MT_CUDA_OUT_OF_MEMORY;
}

int cuMemAllocHost_v2(void **ptr, size_t size)
{
    return cuMemHostAlloc(ptr, size, 0);
}

int cuMemFreeHost(void *ptr)
{
    free(ptr);
    return MT_CUDA_SUCCESS;
}

int cuMemHostRegister_v2(void *ptr, size_t size, unsigned flags)
{
    (void)flags;
    return ptr && size ? MT_CUDA_SUCCESS : MT_CUDA_INVALID_VALUE;
}

int cuMemHostUnregister(void *ptr)
{
    return ptr ? MT_CUDA_SUCCESS : MT_CUDA_INVALID_VALUE;
}

/* ---- looking functions up ---- */

typedef void (*function)(void);

/* A name means its newest form, as in a driver of this release. */
int cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags, int *status)
{
    static const struct {
        const char *name;
        function function;
    } names[] = {
        {"cuInit", (function)fake_init},
        {"cuDevicePrimaryCtxRetain", (function)fake_primary_ctx_retain},
        {"cuCtxGetCurrent", (function)fake_ctx_get_current},
        {"cuCtxPushCurrent", (function)fake_ctx_push_current},
        {"cuCtxPopCurrent", (function)fake_ctx_pop_current},
        {"cuMemGetInfo", (function)fake_mem_get_info},
        {"cuStreamBeginCapture", (function)cuStreamBeginCapture_v2},
        {"cuStreamEndCapture", (function)cuStreamEndCapture},
        {"cuStreamDestroy", (function)cuStreamDestroy_v2},
        {"cuMemAlloc", (function)fake_mem_alloc},
        {"cuMemFree", (function)fake_mem_free},
        {"cuMemAllocAsync", (function)cuMemAllocAsync},
        {"cuMemFreeAsync", (function)cuMemFreeAsync},
        {"cuMemAllocFromPoolAsync", (function)cuMemAllocFromPoolAsync},
        {"cuMemPoolCreate", (function)cuMemPoolCreate},
        {"cuMemPoolDestroy", (function)cuMemPoolDestroy},
        {"cuArrayCreate", (function)cuArrayCreate_v2},
        {"cuArray3DCreate", (function)cuArray3DCreate_v2},
        {"cuArrayDestroy", (function)cuArrayDestroy},
        {"cuModuleLoadData", (function)cuModuleLoadData},
        {"cuModuleUnload", (function)cuModuleUnload},
        {"cuLaunchKernel", (function)cuLaunchKernel},
        {"cuDevicePrimaryCtxReset", (function)cuDevicePrimaryCtxReset_v2},
        {"cuMemHostAlloc", (function)cuMemHostAlloc},
        {"cuMemAllocHost", (function)cuMemAllocHost_v2},
        {"cuMemFreeHost", (function)cuMemFreeHost},
        {"cuMemHostRegister", (function)cuMemHostRegister_v2},
        {"cuMemHostUnregister", (function)cuMemHostUnregister},
        {"cuMemAddressReserve", (function)fake_mem_address_reserve},
        {"cuMemCreate", (function)fake_mem_create},
        {"cuMemRelease", (function)fake_mem_release},
        {"cuMemMap", (function)fake_mem_map},
        {"cuMemUnmap", (function)fake_mem_unmap},
        {"cuGetProcAddress", (function)cuGetProcAddress_v2},
    };
    (void)version;
    (void)flags;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].name, symbol) == 0) {
            memcpy(out, &names[i].function, sizeof *out);
            if (status) {
                *status = 0;
            }
            return MT_CUDA_SUCCESS;
        }
    }
    *out = NULL;
    return 500; /* CUDA_ERROR_NOT_FOUND */
}
