/* SPDX-License-Identifier: MIT */
/* A libcudart.so.13 that reaches the driver as the real one does: dlopen, dlsym of
 * cuGetProcAddress_v2, and everything else by that. */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FAKE_API __attribute__((visibility("default")))

struct extent {
    size_t width, height, depth;
};
struct pitched {
    void *ptr;
    size_t pitch, width, height;
};

FAKE_API int cudaMalloc(void **ptr, size_t size);
FAKE_API int cudaFree(void *ptr);
FAKE_API int cudaMallocAsync(void **ptr, size_t size, void *stream);
FAKE_API int cudaFreeAsync(void *ptr, void *stream);
FAKE_API int cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height);
FAKE_API int cudaMallocUnwatched(void **ptr, size_t size);
FAKE_API int cudaSetDevice(int device);
FAKE_API int cudaGetDevice(int *device);
FAKE_API int cudaDeviceReset(void);
FAKE_API int cudaGetLastError(void);
FAKE_API int cudaMemGetInfo(size_t *free_bytes, size_t *total);
FAKE_API int cudaStreamBeginCapture(void *stream, int mode);
FAKE_API int cudaStreamEndCapture(void *stream, void **graph);
FAKE_API int cudaStreamDestroy(void *stream);
FAKE_API int cudaIpcGetMemHandle(void *handle, void *ptr);
FAKE_API int cudaMallocFromPoolAsync(void **ptr, size_t size, void *pool, void *stream);
FAKE_API int cudaMalloc3D(struct pitched *out, struct extent extent);
FAKE_API int cudaMallocArray(void **array, const int *format, size_t width, size_t height,
                             unsigned flags);
FAKE_API int cudaMalloc3DArray(void **array, const int *format, struct extent extent,
                               unsigned flags);
FAKE_API int cudaFreeArray(void *array);
FAKE_API int cudaHostAlloc(void **ptr, size_t size, unsigned flags);
FAKE_API int cudaMallocHost(void **ptr, size_t size);
FAKE_API int cudaFreeHost(void *ptr);
FAKE_API int cudaHostRegister(void *ptr, size_t size, unsigned flags);
FAKE_API int cudaHostUnregister(void *ptr);
FAKE_API int cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **function,
                                                   unsigned version, unsigned long long flags,
                                                   int *status);
FAKE_API int cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                              unsigned long long flags, int *status);

static struct {
    int (*get)(const char *symbol, void **function, int version, uint64_t flags, int *status);
    int (*init)(unsigned flags);
    int (*retain)(void **ctx, int device);
    int (*current)(void **ctx);
    int (*push)(void *ctx);
    int (*alloc)(uint64_t *addr, size_t size);
    int (*release)(uint64_t addr);
    int (*alloc_async)(uint64_t *addr, size_t size, void *stream);
    int (*free_async)(uint64_t addr, void *stream);
    int (*pop)(void **ctx);
    int (*info)(size_t *free_bytes, size_t *total);
    int (*capture)(void *stream, int mode);
    int (*capture_end)(void *stream, void **graph);
    int (*destroy)(void *stream);
    int (*from_pool)(uint64_t *addr, size_t size, void *pool, void *stream);
    int (*array)(void **array, const void *wanted);
    int (*destroy_array)(void *array);
    int (*host_alloc)(void **ptr, size_t size, unsigned flags);
    int (*free_host)(void *ptr);
    int (*pin)(void *ptr, size_t size, unsigned flags);
    int (*unpin)(void *ptr);
    int (*reset)(int device);
} driver;
static _Thread_local int device_of_thread;
static _Thread_local int last_error;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void get(const char *symbol, void *member)
{
    driver.get(symbol, member, 13000, 0, NULL);
}

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *lookup = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
    if (!lookup) {
        return;
    }
    memcpy(&driver.get, &lookup, sizeof lookup);
    get("cuInit", &driver.init);
    get("cuDevicePrimaryCtxRetain", &driver.retain);
    get("cuCtxGetCurrent", &driver.current);
    get("cuCtxPushCurrent", &driver.push);
    get("cuMemAlloc", &driver.alloc);
    get("cuMemFree", &driver.release);
    get("cuMemAllocAsync", &driver.alloc_async);
    get("cuMemFreeAsync", &driver.free_async);
    get("cuCtxPopCurrent", &driver.pop);
    get("cuMemGetInfo", &driver.info);
    get("cuStreamBeginCapture", &driver.capture);
    get("cuStreamEndCapture", &driver.capture_end);
    get("cuStreamDestroy", &driver.destroy);
    get("cuMemAllocFromPoolAsync", &driver.from_pool);
    get("cuArray3DCreate", &driver.array);
    get("cuArrayDestroy", &driver.destroy_array);
    get("cuMemHostAlloc", &driver.host_alloc);
    get("cuMemFreeHost", &driver.free_host);
    get("cuMemHostRegister", &driver.pin);
    get("cuMemHostUnregister", &driver.unpin);
    get("cuDevicePrimaryCtxReset", &driver.reset);
    driver.init(0);
}

/* Every thread has a context once it calls. */
static int enter(void)
{
    void *ctx = NULL;
    pthread_once(&once, open_driver);
    if (!driver.get) {
        return 100;
    }
    driver.current(&ctx);
    void *wanted = NULL;
    int result = driver.retain(&wanted, device_of_thread);
    if (result || ctx == wanted) {
        return result;
    }
    if (ctx) {
        driver.pop(&ctx);
    }
    return driver.push(wanted);
}

static int allocate(void **ptr, size_t size)
{
    uint64_t addr = 0;
    int result = enter();
    result = result ? result : driver.alloc(&addr, size);
    *ptr = (void *)(uintptr_t)addr;
    last_error = result ? result : last_error;
    return result;
}

int cudaMalloc(void **ptr, size_t size)
{
    return allocate(ptr, size);
}

/* Stands for what the preload does not know at this level. */
int cudaMallocUnwatched(void **ptr, size_t size)
{
    return allocate(ptr, size);
}

int cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
    *pitch = (width + 511) / 512 * 512;
    return allocate(ptr, *pitch * height);
}

int cudaFree(void *ptr)
{
    int result = enter();
    return result || !ptr ? result : driver.release((uintptr_t)ptr);
}

int cudaMallocAsync(void **ptr, size_t size, void *stream)
{
    uint64_t addr = 0;
    int result = enter();
    result = result ? result : driver.alloc_async(&addr, size, stream);
    *ptr = (void *)(uintptr_t)addr;
    return result;
}

int cudaFreeAsync(void *ptr, void *stream)
{
    int result = enter();
    return result ? result : driver.free_async((uintptr_t)ptr, stream);
}

int cudaSetDevice(int device)
{
    device_of_thread = device;
    return enter();
}

int cudaGetDevice(int *device)
{
    *device = device_of_thread;
    return 0;
}

int cudaDeviceReset(void)
{
    int result = enter();
    return result ? result : driver.reset(device_of_thread);
}

int cudaGetLastError(void)
{
    int error = last_error;
    last_error = 0;
    return error;
}

int cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    int result = enter();
    return result ? result : driver.info(free_bytes, total);
}

int cudaStreamBeginCapture(void *stream, int mode)
{
    int result = enter();
    return result ? result : driver.capture(stream, mode);
}

int cudaStreamEndCapture(void *stream, void **graph)
{
    int result = enter();
    return result ? result : driver.capture_end(stream, graph);
}

int cudaStreamDestroy(void *stream)
{
    int result = enter();
    return result ? result : driver.destroy(stream);
}

int cudaIpcGetMemHandle(void *handle, void *ptr)
{
    memset(handle, 0, 64);
    return ptr ? enter() : 1;
}

int cudaMallocFromPoolAsync(void **ptr, size_t size, void *pool, void *stream)
{
    uint64_t addr = 0;
    int result = enter();
    result = result ? result : driver.from_pool(&addr, size, pool, stream);
    *ptr = (void *)(uintptr_t)addr;
    return result;
}

int cudaMalloc3D(struct pitched *out, struct extent e)
{
    out->pitch = (e.width + 511) / 512 * 512;
    return allocate(&out->ptr, out->pitch * e.height * e.depth);
}

/* ---- arrays, of 4 bytes an element ---- */

int cudaMalloc3DArray(void **array, const int *format, struct extent e, unsigned flags)
{
    const struct {
        struct extent extent;
        int format;
        unsigned channels, flags;
    } wanted = {e, 0x20, 1, flags};
    (void)format;
    int result = enter();
    return result ? result : driver.array(array, &wanted);
}

int cudaMallocArray(void **array, const int *format, size_t width, size_t height, unsigned flags)
{
    const struct extent e = {width, height, 0};
    return cudaMalloc3DArray(array, format, e, flags);
}

int cudaFreeArray(void *array)
{
    int result = enter();
    return result ? result : driver.destroy_array(array);
}

/* ---- pinned memory of the host ---- */

int cudaHostAlloc(void **ptr, size_t size, unsigned flags)
{
    int result = enter();
    return result ? result : driver.host_alloc(ptr, size, flags);
}

int cudaMallocHost(void **ptr, size_t size)
{
    return cudaHostAlloc(ptr, size, 0);
}

int cudaFreeHost(void *ptr)
{
    int result = enter();
    return result ? result : driver.free_host(ptr);
}

int cudaHostRegister(void *ptr, size_t size, unsigned flags)
{
    int result = enter();
    return result ? result : driver.pin(ptr, size, flags);
}

int cudaHostUnregister(void *ptr)
{
    int result = enter();
    return result ? result : driver.unpin(ptr);
}

int cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                     unsigned long long flags, int *status)
{
    int result = enter();
    return result ? result : driver.get(symbol, function, (int)version, flags, status);
}

/* No flag means the default stream of each thread. */
int cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **function, unsigned version,
                                          unsigned long long flags, int *status)
{
    return cudaGetDriverEntryPointByVersion(symbol, function, version, flags ? flags : 2, status);
}
