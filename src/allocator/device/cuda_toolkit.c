/* SPDX-License-Identifier: MIT */
/*
 * Where the machine that builds has the CUDA Toolkit, memtool's own declarations of the driver are
 * held to its <cuda.h>: one that differs does not compile. Elsewhere this file is empty.
 */
#include "allocator/device/cuda_driver.h"

#ifdef MT_HAVE_CUDA_H
#include <cuda.h>

/* Where memtool has another name for a result than CUDA_ERROR_ and its own. */
enum {
    CUDA_ERROR_SUCCESS = CUDA_SUCCESS,
    CUDA_ERROR_CAPTURE_UNSUPPORTED = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
    CUDA_ERROR_CAPTURE_IMPLICIT = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
};
#define X(name, value, text) _Static_assert((int)CUDA_ERROR_##name == (value), #name);
MT_CUDA_RESULT_MAP(X)
#undef X

#define SAME(own, its) _Static_assert((int)(own) == (int)(its), #its)
SAME(MT_CUDA_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);
SAME(MT_CUDA_CAPTURE_ACTIVE, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(MT_CUDA_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(MT_CUDA_ATTRIBUTE_HAS_VMM, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME(MT_CUDA_MEMORY_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME(MT_CUDA_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
SAME(MT_CUDA_ACCESS_READ_WRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME(MT_CUDA_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
SAME(sizeof(struct mt_cuda_location), sizeof(CUmemLocation));
SAME(sizeof(struct mt_cuda_memory_prop), sizeof(CUmemAllocationProp));
SAME(offsetof(struct mt_cuda_memory_prop, location), offsetof(CUmemAllocationProp, location));
SAME(offsetof(struct mt_cuda_memory_prop, win32_meta),
     offsetof(CUmemAllocationProp, win32HandleMetaData));
SAME(offsetof(struct mt_cuda_memory_prop, compression),
     offsetof(CUmemAllocationProp, allocFlags.compressionType));
SAME(sizeof(struct mt_cuda_access), sizeof(CUmemAccessDesc));
SAME(offsetof(struct mt_cuda_access, flags), offsetof(CUmemAccessDesc, flags));
SAME(sizeof(uint64_t), sizeof(CUdeviceptr));
SAME(sizeof(uint64_t), sizeof(CUmemGenericAllocationHandle));
SAME(sizeof(int), sizeof(CUdevice));
#undef SAME
#endif
