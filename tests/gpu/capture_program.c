/* SPDX-License-Identifier: MIT */
/* A plain CUDA program for the capture part of check-gpu: takes memory in every way that the
 * preload knows and says how much the device has less of, as JSON: {"difference": BYTES}. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(x)                                                                                  \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "line %d: %s\n", __LINE__, #x);                                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void runtime(void)
{
    void *p = NULL;
    size_t pitch = 0;
    for (int i = 0; i < 100; i++) {
        EXPECT(cudaMalloc(&p, (size_t)(1 + i % 9) << 20) == cudaSuccess);
        if (i % 5 == 0) {
            EXPECT(cudaFree(p) == cudaSuccess);
        }
    }
    EXPECT(cudaMallocPitch(&p, &pitch, 5000, 20000) == cudaSuccess);
    EXPECT(cudaMallocAsync(&p, (size_t)256 << 20, NULL) == cudaSuccess);
    EXPECT(cudaStreamSynchronize(NULL) == cudaSuccess);
}

static void driver(void)
{
    typedef CUresult (*create_function)(CUmemGenericAllocationHandle *, size_t,
                                        const CUmemAllocationProp *, unsigned long long);
    void *entry = NULL;
    enum cudaDriverEntryPointQueryResult found;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    EXPECT(cudaGetDriverEntryPointByVersion("cuMemCreate", &entry, 12000, cudaEnableDefault,
                                            &found) == cudaSuccess);
    EXPECT(((create_function)entry)(&handle, (size_t)512 << 20, &prop, 0) == CUDA_SUCCESS);
}

int main(void)
{
    size_t before, after, total;
    void *p = NULL;
    EXPECT(cudaFree(0) == cudaSuccess);
    EXPECT(cudaMemGetInfo(&before, &total) == cudaSuccess);
    runtime();
    driver();
    EXPECT(cudaMemGetInfo(&after, &total) == cudaSuccess);
    EXPECT(cudaMalloc(&p, (size_t)1 << 50) == cudaErrorMemoryAllocation);
    printf("{\"difference\": %zu}\n", before - after);
    return 0;
}
