/* SPDX-License-Identifier: MIT */
/*
 * The few types and numbers of the CUDA driver interface that memtool needs, declared here so that
 * the library builds with no CUDA Toolkit installed. Layouts and values are those of cuda.h 13.0
 * (unchanged since 10.2); cuda_toolkit.c holds them to cuda.h where the Toolkit is. Streams,
 * contexts, events and graphs are opaque pointers; device memory is a number.
 */
#ifndef MEMTOOL_ALLOCATOR_DEVICE_CUDA_DRIVER_H
#define MEMTOOL_ALLOCATOR_DEVICE_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "support/error.h"

/* CUresult: name, value, in words */
#define MT_CUDA_RESULT_MAP(X)                                                                      \
    X(SUCCESS, 0, "done")                                                                          \
    X(INVALID_VALUE, 1, "invalid value")                                                           \
    X(OUT_OF_MEMORY, 2, "out of memory")                                                           \
    X(NOT_INITIALIZED, 3, "the driver is not initialised")                                         \
    X(DEINITIALIZED, 4, "the driver is shutting down")                                             \
    X(NO_DEVICE, 100, "no CUDA device")                                                            \
    X(INVALID_DEVICE, 101, "no such device")                                                       \
    X(INVALID_CONTEXT, 201, "no valid context")                                                    \
    X(INVALID_HANDLE, 400, "invalid handle")                                                       \
    X(NOT_READY, 600, "not ready")                                                                 \
    X(ILLEGAL_ADDRESS, 700, "illegal memory access in an earlier kernel")                          \
    X(CONTEXT_IS_DESTROYED, 709, "the context was destroyed")                                      \
    X(NOT_SUPPORTED, 801, "not supported")                                                         \
    X(CAPTURE_UNSUPPORTED, 900, "not permitted while a stream is capturing")                       \
    X(CAPTURE_IMPLICIT, 906, "the default stream while another stream is capturing")               \
    X(UNKNOWN, 999, "unknown error")

enum mt_cuda_result {
#define X(name, value, text) MT_CUDA_##name = value,
    MT_CUDA_RESULT_MAP(X)
#undef X
};

enum {
    MT_CUDA_EVENT_DISABLE_TIMING = 2,
    MT_CUDA_CAPTURE_ACTIVE = 1,       /* CU_STREAM_CAPTURE_STATUS_ACTIVE */
    MT_CUDA_CAPTURE_MODE_RELAXED = 2, /* CU_STREAM_CAPTURE_MODE_RELAXED */
    MT_CUDA_ATTRIBUTE_HAS_VMM = 102,  /* ..._VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
    MT_CUDA_MEMORY_PINNED = 1,        /* CU_MEM_ALLOCATION_TYPE_PINNED */
    MT_CUDA_LOCATION_DEVICE = 1,      /* CU_MEM_LOCATION_TYPE_DEVICE */
    MT_CUDA_ACCESS_READ_WRITE = 3,    /* CU_MEM_ACCESS_FLAGS_PROT_READWRITE */
    MT_CUDA_GRANULARITY_MINIMUM = 0,  /* CU_MEM_ALLOC_GRANULARITY_MINIMUM */
};

struct mt_cuda_location { /* CUmemLocation */
    int type;
    int id;
};

struct mt_cuda_memory_prop { /* CUmemAllocationProp */
    int type;
    int handle_types;
    struct mt_cuda_location location;
    void *win32_meta;
    unsigned char compression;
    unsigned char gpu_direct_rdma;
    unsigned short usage;
    unsigned char reserved[4];
};
_Static_assert(sizeof(struct mt_cuda_memory_prop) == 32, "the layout of CUmemAllocationProp");

struct mt_cuda_access { /* CUmemAccessDesc */
    struct mt_cuda_location location;
    int flags;
};
_Static_assert(sizeof(struct mt_cuda_access) == 12, "the layout of CUmemAccessDesc");

/* The driver's functions, by their names in libcuda without the version's suffix. */
struct mt_cuda_api {
#define X(member, symbol, need, arguments) int(*member) arguments;
#include "allocator/device/cuda_api.def"
#undef X
    void *library; /* from dlopen; never closed: a driver does not survive being unloaded */
};

/*
 * Loads the driver. `path` is a file for dlopen, NULL for "libcuda.so.1". Optional functions that
 * an older driver lacks are NULL in *api. Errors: MT_DEVICE, when there is no driver or one too old
 * to hold every required function. Does not initialise the driver (cuInit).
 */
enum mt_status mt_cuda_api_load(struct mt_cuda_api *api, const char *path, struct mt_error *err)
    MT_NODISCARD;

/* A CUresult in words; the number stands in the caller's message. */
const char *mt_cuda_result_text(int result);

#endif
