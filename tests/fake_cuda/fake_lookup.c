/* SPDX-License-Identifier: MIT */
/* The part of the fake driver through which runtimes reach it: cuGetProcAddress, and what only they
 * call. Stream-ordered memory is given and taken at once. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "allocator/cuda_driver.h"
#include "fake_cuda.h"

#define FAKE_API __attribute__((visibility("default")))

#define X(member, symbol, need, arguments) FAKE_API int fake_##member arguments __asm__(symbol);
#include "allocator/cuda_api.def"
#undef X
FAKE_API int cuCtxGetDevice(int *device);
FAKE_API int cuMemAllocAsync(uint64_t *addr, size_t size, void *stream);
FAKE_API int cuMemFreeAsync(uint64_t addr, void *stream);
FAKE_API int cuStreamBeginCapture_v2(void *stream, int mode);
FAKE_API int cuStreamEndCapture(void *stream, void **graph);
FAKE_API int cuStreamDestroy_v2(void *stream);
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
