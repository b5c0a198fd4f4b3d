/* SPDX-License-Identifier: MIT */
/* For the CUDA programs that know nothing of memtool: what they call of the runtime, which they
 * declare themselves so that no CUDA Toolkit is needed, and how they say what went wrong. */
#ifndef TESTS_LIVE_CUDA_PROGRAM_H
#define TESTS_LIVE_CUDA_PROGRAM_H

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

struct extent { /* cudaExtent */
    size_t width, height, depth;
};
struct pitched { /* cudaPitchedPtr */
    void *ptr;
    size_t pitch, width, height;
};

int cudaMalloc(void **ptr, size_t size);
int cudaFree(void *ptr);
int cudaMallocAsync(void **ptr, size_t size, void *stream);
int cudaFreeAsync(void *ptr, void *stream);
int cudaMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height);
int cudaMallocFromPoolAsync(void **ptr, size_t size, void *pool, void *stream);
int cudaMalloc3D(struct pitched *out, struct extent extent);
int cudaMallocArray(void **array, const int *format, size_t width, size_t height, unsigned flags);
int cudaMalloc3DArray(void **array, const int *format, struct extent extent, unsigned flags);
int cudaFreeArray(void *array);
int cudaHostAlloc(void **ptr, size_t size, unsigned flags);
int cudaMallocHost(void **ptr, size_t size);
int cudaFreeHost(void *ptr);
int cudaHostRegister(void *ptr, size_t size, unsigned flags);
int cudaHostUnregister(void *ptr);
int cudaSetDevice(int device);
int cudaDeviceReset(void);
int cudaGetLastError(void);
int cudaMemGetInfo(size_t *free_bytes, size_t *total);
int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **graph);
int cudaStreamDestroy(void *stream);
int cudaIpcGetMemHandle(void *handle, void *ptr);
int cudaMallocUnwatched(void **ptr, size_t size);
int cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **function, unsigned version,
                                          unsigned long long flags, int *status);
int cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                     unsigned long long flags, int *status);

/* Without the exit functions: a snapshot of the end would hide that there was none before. */
#define EXPECT(x)                                                                                  \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "line %d: %s\n", __LINE__, #x);                                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

enum { MIB = 1 << 20 };

/* Memory that must be there. */
static inline void *take(size_t size)
{
    void *p = NULL;
    EXPECT(cudaMalloc(&p, size) == 0 && p);
    return p;
}

#endif
