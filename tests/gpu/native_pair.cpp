/* SPDX-License-Identifier: MIT */
/* PyTorch's current allocator behind the same two functions as memtool's, for bench_pair.c. */
#include <c10/cuda/CUDACachingAllocator.h>
#include <sys/types.h>

extern "C" void *native_malloc(ssize_t size, int, void *)
{
    return c10::cuda::CUDACachingAllocator::raw_alloc(static_cast<size_t>(size));
}

extern "C" void native_free(void *ptr, ssize_t, int, void *)
{
    c10::cuda::CUDACachingAllocator::raw_delete(ptr);
}
