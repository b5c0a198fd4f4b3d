/* SPDX-License-Identifier: MIT */
/* How the watchers are declared: they take the names that the CUDA libraries have. */
#ifndef MEMTOOL_LIVE_PRELOAD_PRELOAD_DOORS_H
#define MEMTOOL_LIVE_PRELOAD_PRELOAD_DOORS_H

#include <stddef.h>
#include <stdint.h>

#include "live/preload/preload.h"

#define MT_DOOR __attribute__((visibility("default")))

/* Declares `real`, or returns "unknown error" where there is nothing behind the watcher. */
#define MT_REAL(call, arguments)                                                                   \
    int(*real) arguments = (int(*) arguments)mt_preload_real(MT_CALL_##call);                      \
    if (!real) {                                                                                   \
        return 999;                                                                                \
    }

/* Declares `result`, of a call that takes memory: once more when mode cache gave some back. */
#define MT_RESULT(by_driver, call)                                                                 \
    int result = (call);                                                                           \
    if (mt_preload_cache_made_room(result, by_driver)) {                                           \
        result = (call);                                                                           \
    }

/* cudaError_t and CUresult are ints, streams and properties pointers, device pointers numbers. */
MT_DOOR int cudaMalloc(void **ptr, size_t size);
MT_DOOR int cudaMallocManaged(void **ptr, size_t size, unsigned flags);
MT_DOOR int cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height);
MT_DOOR int cudaMallocAsync(void **ptr, size_t size, void *stream);
MT_DOOR int cudaMallocAsync_ptsz(void **ptr, size_t size, void *stream);
MT_DOOR int cudaFree(void *ptr);
MT_DOOR int cudaFreeAsync(void *ptr, void *stream);
MT_DOOR int cudaFreeAsync_ptsz(void *ptr, void *stream);
MT_DOOR int cudaMemGetInfo(size_t *free_bytes, size_t *total);
MT_DOOR int cudaDeviceReset(void);
MT_DOOR int cudaIpcGetMemHandle(void *handle, void *ptr);
/* The parts of driver_types.h 13.0 that calls carry. */
struct mt_cuda_extent {
    size_t width, height, depth;
};
struct mt_cuda_pitched {
    void *ptr;
    size_t pitch, width, height;
};
struct mt_cuda_format {
    int x, y, z, w; /* bits */
    int kind;
};

MT_DOOR int cudaMalloc3D(struct mt_cuda_pitched *out, struct mt_cuda_extent extent);
MT_DOOR int cudaMallocArray(void **array, const struct mt_cuda_format *format, size_t width,
                            size_t height, unsigned flags);
MT_DOOR int cudaMalloc3DArray(void **array, const struct mt_cuda_format *format,
                              struct mt_cuda_extent extent, unsigned flags);
MT_DOOR int cudaFreeArray(void *array);
MT_DOOR int cudaMallocMipmappedArray(void **array, const struct mt_cuda_format *format,
                                     struct mt_cuda_extent extent, unsigned levels, unsigned flags);
MT_DOOR int cudaFreeMipmappedArray(void *array);
MT_DOOR int cudaMallocFromPoolAsync(void **ptr, size_t size, void *pool, void *stream);
MT_DOOR int cudaMallocFromPoolAsync_ptsz(void **ptr, size_t size, void *pool, void *stream);
MT_DOOR int cudaHostAlloc(void **ptr, size_t size, unsigned flags);
MT_DOOR int cudaMallocHost(void **ptr, size_t size);
MT_DOOR int cudaFreeHost(void *ptr);
MT_DOOR int cudaHostRegister(void *ptr, size_t size, unsigned flags);
MT_DOOR int cudaHostUnregister(void *ptr);
MT_DOOR int cudaGetDriverEntryPoint_ptsz(const char *symbol, void **function,
                                         unsigned long long flags, int *status);
MT_DOOR int cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **function,
                                                  unsigned version, unsigned long long flags,
                                                  int *status);
MT_DOOR int cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                    int *status);
MT_DOOR int cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                             unsigned long long flags, int *status);

MT_DOOR int cuMemAlloc_v2(uint64_t *addr, size_t size);
MT_DOOR int cuMemFree_v2(uint64_t addr);
MT_DOOR int cuMemAllocManaged(uint64_t *addr, size_t size, unsigned flags);
MT_DOOR int cuMemAllocPitch_v2(uint64_t *addr, size_t *pitch, size_t width, size_t height,
                               unsigned element);
MT_DOOR int cuMemAllocAsync(uint64_t *addr, size_t size, void *stream);
MT_DOOR int cuMemAllocAsync_ptsz(uint64_t *addr, size_t size, void *stream);
MT_DOOR int cuMemFreeAsync(uint64_t addr, void *stream);
MT_DOOR int cuMemFreeAsync_ptsz(uint64_t addr, void *stream);
MT_DOOR int cuMemCreate(uint64_t *handle, size_t size, const void *prop, unsigned long long flags);
MT_DOOR int cuMemRelease(uint64_t handle);
MT_DOOR int cuMemRetainAllocationHandle(uint64_t *handle, void *addr);
MT_DOOR int cuMemMap(uint64_t addr, size_t size, size_t offset, uint64_t handle,
                     unsigned long long flags);
MT_DOOR int cuMemUnmap(uint64_t addr, size_t size);
MT_DOOR int cuStreamBeginCapture_v2(void *stream, int mode);
MT_DOOR int cuStreamBeginCapture_v2_ptsz(void *stream, int mode);
MT_DOOR int cuStreamBeginCaptureToGraph(void *stream, void *graph, const void *nodes,
                                        const void *edges, size_t count, int mode);
MT_DOOR int cuStreamBeginCaptureToGraph_ptsz(void *stream, void *graph, const void *nodes,
                                             const void *edges, size_t count, int mode);
MT_DOOR int cuStreamEndCapture(void *stream, void **graph);
MT_DOOR int cuStreamEndCapture_ptsz(void *stream, void **graph);
MT_DOOR int cuStreamDestroy_v2(void *stream);
/* CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR of cuda.h 13.0. */
struct mt_cuda_array {
    size_t width, height;
    int format;
    unsigned channels;
};
struct mt_cuda_array_3d {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
};

MT_DOOR int cuMemAllocFromPoolAsync(uint64_t *addr, size_t size, void *pool, void *stream);
MT_DOOR int cuMemAllocFromPoolAsync_ptsz(uint64_t *addr, size_t size, void *pool, void *stream);
MT_DOOR int cuMemPoolCreate(void **pool, const void *prop);
MT_DOOR int cuMemPoolDestroy(void *pool);
MT_DOOR int cuArrayCreate_v2(void **array, const struct mt_cuda_array *wanted);
MT_DOOR int cuArray3DCreate_v2(void **array, const struct mt_cuda_array_3d *wanted);
MT_DOOR int cuArrayDestroy(void *array);
MT_DOOR int cuMipmappedArrayCreate(void **array, const struct mt_cuda_array_3d *wanted,
                                   unsigned levels);
MT_DOOR int cuMipmappedArrayDestroy(void *array);
MT_DOOR int cuMemHostAlloc(void **ptr, size_t size, unsigned flags);
MT_DOOR int cuMemAllocHost_v2(void **ptr, size_t size);
MT_DOOR int cuMemFreeHost(void *ptr);
MT_DOOR int cuMemHostRegister_v2(void *ptr, size_t size, unsigned flags);
MT_DOOR int cuMemHostUnregister(void *ptr);
MT_DOOR int cuDevicePrimaryCtxRetain(void **ctx, int device);
MT_DOOR int cuDevicePrimaryCtxReset_v2(int device);
MT_DOOR int cuModuleLoad(void **module, const char *path);
MT_DOOR int cuModuleLoadData(void **module, const void *image);
MT_DOOR int cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options,
                               void **values);
MT_DOOR int cuModuleLoadFatBinary(void **module, const void *image);
MT_DOOR int cuModuleGetFunction(void **function, void *module, const char *name);
MT_DOOR int cuModuleUnload(void *module);
MT_DOOR int cuLibraryLoadData(void **library, const void *code, int *options, void **values,
                              unsigned n, int *library_options, void **library_values,
                              unsigned n_library);
MT_DOOR int cuLibraryLoadFromFile(void **library, const char *path, int *options, void **values,
                                  unsigned n, int *library_options, void **library_values,
                                  unsigned n_library);
MT_DOOR int cuLibraryUnload(void *library);
MT_DOOR int cuKernelGetFunction(void **function, void *kernel);
MT_DOOR int cuFuncLoad(void *function);
MT_DOOR int cuFuncGetAttribute(int *value, int attribute, void *function);
MT_DOOR int cuFuncSetAttribute(void *function, int attribute, int value);
MT_DOOR int cuKernelGetAttribute(int *value, int attribute, void *kernel, int device);
MT_DOOR int cuKernelSetAttribute(int attribute, int value, void *kernel, int device);
MT_DOOR int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                           unsigned bz, unsigned shared, void *stream, void **parameters,
                           void **extra);
MT_DOOR int cuLaunchKernel_ptsz(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                unsigned by, unsigned bz, unsigned shared, void *stream,
                                void **parameters, void **extra);
MT_DOOR int cuLaunchKernelEx(const void *config, void *f, void **parameters, void **extra);
MT_DOOR int cuLaunchKernelEx_ptsz(const void *config, void *f, void **parameters, void **extra);
MT_DOOR int cuLaunchCooperativeKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                      unsigned by, unsigned bz, unsigned shared, void *stream,
                                      void **parameters);
MT_DOOR int cuLaunchCooperativeKernel_ptsz(void *f, unsigned gx, unsigned gy, unsigned gz,
                                           unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                           void *stream, void **parameters);
MT_DOOR int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags,
                             int *status);
MT_DOOR int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
                                int *status);

/* NVTX's injection interface (preload_nvtx.c). 1, or 0 when the tables are not what is known. */
MT_DOOR int InitializeInjectionNvtx2(const void *(*table)(uint32_t id));

/* mt_preload_replace for a function that the driver was asked for by name, CUDA release (12040 is
 * 12.4) and flags (2: the variant for a default stream of each thread) (preload_driver.c). */
void *mt_preload_replace_proc(const char *symbol, void *function, int version,
                              unsigned long long flags);

#endif
