/* SPDX-License-Identifier: MIT */
/*
 * The library as a preload, MEMTOOL_PRELOAD=record: every CUDA allocation of a process is watched
 * on its way to the real function and written down with its stack. MEMTOOL_PRELOAD=cache: what the
 * runtime is asked for comes from memtool's caching allocator; the rest is watched. Nothing
 * happens, and calls go straight through, unless that variable is set; nothing is started before
 * the first allocation.
 *
 * A call of the runtime leads to calls of the driver: the outermost one is written down, with the
 * library that made it as its innermost frame. Locks: one, inside; nothing that may call back runs
 * under it.
 */
#ifndef MEMTOOL_LIVE_PRELOAD_PRELOAD_H
#define MEMTOOL_LIVE_PRELOAD_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The functions that are watched, RUNTIME and DRIVER by where they live, and those that memtool
 * itself calls: X(id, symbol, lives). Watchers of the first two kinds have the function's own name.
 */
#define MT_PRELOAD_CALLS(X)                                                                        \
    X(RT_MALLOC, cudaMalloc, RUNTIME)                                                              \
    X(RT_FREE, cudaFree, RUNTIME)                                                                  \
    X(RT_MALLOC_ASYNC, cudaMallocAsync, RUNTIME)                                                   \
    X(RT_MALLOC_ASYNC_PTSZ, cudaMallocAsync_ptsz, RUNTIME)                                         \
    X(RT_FREE_ASYNC, cudaFreeAsync, RUNTIME)                                                       \
    X(RT_FREE_ASYNC_PTSZ, cudaFreeAsync_ptsz, RUNTIME)                                             \
    X(RT_MALLOC_MANAGED, cudaMallocManaged, RUNTIME)                                               \
    X(RT_MALLOC_PITCH, cudaMallocPitch, RUNTIME)                                                   \
    X(RT_MEM_INFO, cudaMemGetInfo, RUNTIME)                                                        \
    X(RT_RESET, cudaDeviceReset, RUNTIME)                                                          \
    X(RT_IPC_HANDLE, cudaIpcGetMemHandle, RUNTIME)                                                 \
    X(RT_GET_DEVICE, cudaGetDevice, RUNTIME_ASKED)                                                 \
    X(RT_LAST_ERROR, cudaGetLastError, RUNTIME_ASKED)                                              \
    X(RT_MALLOC_3D, cudaMalloc3D, RUNTIME)                                                         \
    X(RT_MALLOC_ARRAY, cudaMallocArray, RUNTIME)                                                   \
    X(RT_MALLOC_3D_ARRAY, cudaMalloc3DArray, RUNTIME)                                              \
    X(RT_FREE_ARRAY, cudaFreeArray, RUNTIME)                                                       \
    X(RT_MALLOC_MIPMAP, cudaMallocMipmappedArray, RUNTIME)                                         \
    X(RT_FREE_MIPMAP, cudaFreeMipmappedArray, RUNTIME)                                             \
    X(RT_FROM_POOL, cudaMallocFromPoolAsync, RUNTIME)                                              \
    X(RT_FROM_POOL_PTSZ, cudaMallocFromPoolAsync_ptsz, RUNTIME)                                    \
    X(RT_HOST_ALLOC, cudaHostAlloc, RUNTIME)                                                       \
    X(RT_MALLOC_HOST, cudaMallocHost, RUNTIME)                                                     \
    X(RT_FREE_HOST, cudaFreeHost, RUNTIME)                                                         \
    X(RT_REGISTER, cudaHostRegister, RUNTIME)                                                      \
    X(RT_UNREGISTER, cudaHostUnregister, RUNTIME)                                                  \
    X(RT_ENTRY_POINT, cudaGetDriverEntryPoint, RUNTIME)                                            \
    X(RT_ENTRY_POINT_VERSION, cudaGetDriverEntryPointByVersion, RUNTIME)                           \
    X(RT_ENTRY_POINT_PTSZ, cudaGetDriverEntryPoint_ptsz, RUNTIME)                                  \
    X(RT_ENTRY_POINT_VERSION_PTSZ, cudaGetDriverEntryPointByVersion_ptsz, RUNTIME)                 \
    X(CU_ALLOC, cuMemAlloc_v2, DRIVER)                                                             \
    X(CU_FREE, cuMemFree_v2, DRIVER)                                                               \
    X(CU_ALLOC_MANAGED, cuMemAllocManaged, DRIVER)                                                 \
    X(CU_ALLOC_PITCH, cuMemAllocPitch_v2, DRIVER)                                                  \
    X(CU_ALLOC_ASYNC, cuMemAllocAsync, DRIVER)                                                     \
    X(CU_ALLOC_ASYNC_PTSZ, cuMemAllocAsync_ptsz, DRIVER)                                           \
    X(CU_FREE_ASYNC, cuMemFreeAsync, DRIVER)                                                       \
    X(CU_FREE_ASYNC_PTSZ, cuMemFreeAsync_ptsz, DRIVER)                                             \
    X(CU_CREATE, cuMemCreate, DRIVER)                                                              \
    X(CU_RELEASE, cuMemRelease, DRIVER)                                                            \
    X(CU_RETAIN, cuMemRetainAllocationHandle, DRIVER)                                              \
    X(CU_MAP, cuMemMap, DRIVER)                                                                    \
    X(CU_UNMAP, cuMemUnmap, DRIVER)                                                                \
    X(CU_CAPTURE, cuStreamBeginCapture_v2, DRIVER)                                                 \
    X(CU_CAPTURE_PTSZ, cuStreamBeginCapture_v2_ptsz, DRIVER)                                       \
    X(CU_CAPTURE_GRAPH, cuStreamBeginCaptureToGraph, DRIVER)                                       \
    X(CU_CAPTURE_GRAPH_PTSZ, cuStreamBeginCaptureToGraph_ptsz, DRIVER)                             \
    X(CU_CAPTURE_END, cuStreamEndCapture, DRIVER)                                                  \
    X(CU_CAPTURE_END_PTSZ, cuStreamEndCapture_ptsz, DRIVER)                                        \
    X(CU_STREAM_DESTROY, cuStreamDestroy_v2, DRIVER)                                               \
    X(CU_FROM_POOL, cuMemAllocFromPoolAsync, DRIVER)                                               \
    X(CU_FROM_POOL_PTSZ, cuMemAllocFromPoolAsync_ptsz, DRIVER)                                     \
    X(CU_POOL_CREATE, cuMemPoolCreate, DRIVER)                                                     \
    X(CU_POOL_DESTROY, cuMemPoolDestroy, DRIVER)                                                   \
    X(CU_ARRAY, cuArrayCreate_v2, DRIVER)                                                          \
    X(CU_ARRAY_3D, cuArray3DCreate_v2, DRIVER)                                                     \
    X(CU_ARRAY_DESTROY, cuArrayDestroy, DRIVER)                                                    \
    X(CU_MIPMAP, cuMipmappedArrayCreate, DRIVER)                                                   \
    X(CU_MIPMAP_DESTROY, cuMipmappedArrayDestroy, DRIVER)                                          \
    X(CU_HOST_ALLOC, cuMemHostAlloc, DRIVER)                                                       \
    X(CU_ALLOC_HOST, cuMemAllocHost_v2, DRIVER)                                                    \
    X(CU_FREE_HOST, cuMemFreeHost, DRIVER)                                                         \
    X(CU_REGISTER, cuMemHostRegister_v2, DRIVER)                                                   \
    X(CU_UNREGISTER, cuMemHostUnregister, DRIVER)                                                  \
    X(CU_MODULE_LOAD, cuModuleLoad, DRIVER)                                                        \
    X(CU_MODULE_DATA, cuModuleLoadData, DRIVER)                                                    \
    X(CU_MODULE_DATA_EX, cuModuleLoadDataEx, DRIVER)                                               \
    X(CU_MODULE_FAT, cuModuleLoadFatBinary, DRIVER)                                                \
    X(CU_MODULE_FUNCTION, cuModuleGetFunction, DRIVER)                                             \
    X(CU_MODULE_UNLOAD, cuModuleUnload, DRIVER)                                                    \
    X(CU_LIBRARY_DATA, cuLibraryLoadData, DRIVER)                                                  \
    X(CU_LIBRARY_FILE, cuLibraryLoadFromFile, DRIVER)                                              \
    X(CU_LIBRARY_UNLOAD, cuLibraryUnload, DRIVER)                                                  \
    X(CU_KERNEL_FUNCTION, cuKernelGetFunction, DRIVER)                                             \
    X(CU_FUNC_LOAD, cuFuncLoad, DRIVER)                                                            \
    X(CU_FUNC_GET, cuFuncGetAttribute, DRIVER)                                                     \
    X(CU_FUNC_SET, cuFuncSetAttribute, DRIVER)                                                     \
    X(CU_KERNEL_GET, cuKernelGetAttribute, DRIVER)                                                 \
    X(CU_KERNEL_SET, cuKernelSetAttribute, DRIVER)                                                 \
    X(CU_LAUNCH, cuLaunchKernel, DRIVER)                                                           \
    X(CU_LAUNCH_PTSZ, cuLaunchKernel_ptsz, DRIVER)                                                 \
    X(CU_LAUNCH_EX, cuLaunchKernelEx, DRIVER)                                                      \
    X(CU_LAUNCH_EX_PTSZ, cuLaunchKernelEx_ptsz, DRIVER)                                            \
    X(CU_LAUNCH_TOGETHER, cuLaunchCooperativeKernel, DRIVER)                                       \
    X(CU_LAUNCH_TOGETHER_PTSZ, cuLaunchCooperativeKernel_ptsz, DRIVER)                             \
    X(CU_PRIMARY, cuDevicePrimaryCtxRetain, DRIVER)                                                \
    X(CU_PRIMARY_RESET, cuDevicePrimaryCtxReset_v2, DRIVER)                                        \
    X(CU_PROC, cuGetProcAddress, DRIVER)                                                           \
    X(CU_PROC_V2, cuGetProcAddress_v2, DRIVER)                                                     \
    X(CU_DEVICE, cuCtxGetDevice, UNWATCHED)                                                        \
    X(CU_INFO, cuMemGetInfo_v2, UNWATCHED)                                                         \
    X(CU_CAPTURE_MODE, cuThreadExchangeStreamCaptureMode, UNWATCHED)                               \
    X(CU_CURRENT, cuCtxGetCurrent, UNWATCHED)                                                      \
    X(CU_PUSH, cuCtxPushCurrent_v2, UNWATCHED)                                                     \
    X(CU_POP, cuCtxPopCurrent_v2, UNWATCHED)                                                       \
    X(CU_PRIMARY_STATE, cuDevicePrimaryCtxGetState, UNWATCHED)                                     \
    X(CU_PRIMARY_RELEASE, cuDevicePrimaryCtxRelease_v2, UNWATCHED)                                 \
    X(CU_BUS_ID, cuDeviceGetPCIBusId, UNWATCHED)                                                   \
    X(CU_TOTAL, cuDeviceTotalMem_v2, UNWATCHED)                                                    \
    X(CU_POOL_DEFAULT, cuDeviceGetDefaultMemPool, UNWATCHED)                                       \
    X(CU_POOL_GET, cuMemPoolGetAttribute, UNWATCHED)

enum mt_preload_call {
#define X(id, symbol, lives) MT_CALL_##id,
    MT_PRELOAD_CALLS(X)
#undef X
        MT_CALL_COUNT
};

typedef void (*mt_preload_function)(void); /* any function, to be cast to what it is */

/* ---- finding the real functions (preload_find.c) ---- */

/* The real function; NULL when the process has no such library, or one without it. Looked up on
 * first use. */
mt_preload_function mt_preload_real(enum mt_preload_call call);

/* What a lookup of `symbol` that gave `found` is to give instead: the watcher, which then leads to
 * `found`; `found` itself for everything else. Accepts NULL for `found`. */
void *mt_preload_replace(const char *symbol, void *found);

/* How often a lookup was given a watcher. */
uint64_t mt_preload_lookups(void);

/* The watcher of a call, as the process sees it (preload_driver.c and the files of the doors). */
mt_preload_function mt_preload_watcher(enum mt_preload_call call);

/* ---- mode cache (preload_cache.c); where it is not on, everything passes ---- */

enum mt_preload_answer {
    MT_PRELOAD_PASS,    /* the real function is to be called, and watched */
    MT_PRELOAD_SERVED,  /* by the cache: *ptr is set */
    MT_PRELOAD_REFUSED, /* out of memory, written down: only the real function may still have some
                         */
};
enum mt_preload_answer mt_preload_cache_take(void **ptr, size_t size);
enum mt_preload_answer mt_preload_cache_take_async(void **ptr, size_t size, void *stream);

/* True when the memory is the cache's: then *result is the answer. */
bool mt_preload_cache_give(void *ptr, int *result);
bool mt_preload_cache_give_async(void *ptr, void *stream, int *result);

/* After a real function's `result`: true when it was out of memory and the cache has given some
 * back, so that it is worth another call; what the runtime then still has in cudaGetLastError is
 * forgotten. */
bool mt_preload_cache_made_room(int result, bool by_driver);

/* Captures of streams into graphs, and streams that end. */
void mt_preload_capture_begun(void *stream);
void mt_preload_capture_ended(void *stream);
void mt_preload_stream_ends(void *stream); /* before the real call */

/* Before a device's primary context ends: gives back all that the cache has there, and forgets the
 * captures, streams and put-off frees that end with it. */
void mt_preload_cache_forget(int device);

/* ---- what is written down (preload_watch.c) ---- */

/* Whether MEMTOOL_PRELOAD asks for recording. Cheap, safe at any time. */
bool mt_preload_on(void);

/* Whether this thread is at work for memtool itself: then nothing is watched or replaced. */
bool mt_preload_own(void);
void mt_preload_own_begin(void); /* until mt_preload_own_end */
void mt_preload_own_end(void);

/* Around a real call. False: it is a part of a watched call, or memtool's own, or nothing is
 * recorded; then it goes straight through, without mt_preload_leave. */
bool mt_preload_enter(void);
void mt_preload_leave(void);

/* Before a driver's allocation, entered or not: the first look at the device, if it is due. */
void mt_preload_look(void);

/* After an allocation, still entered: `result` is what it returned (2 is out of memory in runtime
 * and driver alike), `addr` counts when it is 0. `device` -1: the current one; MT_RECORD_HOST:
 * pinned memory of the host. */
struct mt_preload_request {
    int result;
    int device;
    uint64_t addr;
    uint64_t size;
    uint64_t stream;
    bool by_driver; /* through one of the driver's doors */
};
void mt_preload_allocated(const struct mt_preload_request *r);

/* A request was refused and that is in the recorder already: writes the snapshot of it. */
void mt_preload_refused(void);

/* The calling thread's stack, as the recorder's number; 0 for none. */
uint32_t mt_preload_stack(bool is_free);

/* Begins or ends a named range of the program, on the calling thread's device. False when nothing
 * records or will. */
bool mt_preload_mark(const char *name, bool end);

/* Bytes of a device that watched calls hold. False in mode cache, and when nothing is recorded. */
bool mt_preload_seen(int device, uint64_t *bytes);

/* The code of kernels that the caller had loaded (or, negative, unloaded) on a device. */
void mt_preload_code(int device, int64_t bytes);

/* Before a free, because afterwards the address may be another thread's: takes the allocation out.
 * The result goes to mt_preload_freed after the call, which puts it back when that failed. */
struct mt_preload_taken {
    bool known;
    int device;
    uint64_t addr, size, stream;
    uint32_t stack; /* of the allocation */
};
void mt_preload_take(uint64_t addr, struct mt_preload_taken *out);
void mt_preload_freed(const struct mt_preload_taken *t, int result);

/* In mode cache the allocator that serves the runtime's calls, whose recorder everything else goes
 * to; NULL in other modes, in a forked child, while it is being made and when it could not be. */
struct mt_live;
struct mt_live *mt_preload_live(void);

/* The device's primary context is gone, and with it all that had an address of its own. */
void mt_preload_device_ends(int device);

/* Physical memory, which has no address of its own: it stands at MT_PRELOAD_PAGES and above, and
 * is there as long as a handle or a mapping holds it. So do arrays, whose handles are told apart by
 * MT_PRELOAD_ARRAYS. `device` as in a request. */
#define MT_PRELOAD_PAGES ((uint64_t)1 << 60)
#define MT_PRELOAD_ARRAYS ((uint64_t)1 << 63)
void mt_preload_page_created(const struct mt_preload_request *r, uint64_t handle);
void mt_preload_page_retained(uint64_t handle);
void mt_preload_page_released(uint64_t handle);
void mt_preload_page_mapped(uint64_t addr, uint64_t handle);
void mt_preload_page_unmapped(uint64_t addr, uint64_t size);

#endif
