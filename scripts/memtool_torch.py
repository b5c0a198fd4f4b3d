# SPDX-License-Identifier: MIT
"""PyTorch's CUDA memory from libmemtool_alloc.so: call use() before anything touches the GPU."""
import ctypes

import torch

HOOKS = {
    "set_reset_fn": "memtool_empty_cache",
    "set_memory_fraction_fn": "memtool_set_memory_fraction",
    "set_record_stream_fn": "memtool_record_stream",
    "set_begin_allocate_to_pool": "memtool_begin_pool",
    "set_end_allocate_to_pool_fn": "memtool_end_pool",
    "set_release_pool": "memtool_release_pool",
}


def use(path="libmemtool_alloc.so"):
    """Makes memtool the allocator of this process; returns its C interface (memtool/alloc.h)."""
    allocator = torch.cuda.memory.CUDAPluggableAllocator(path, "memtool_malloc", "memtool_free")
    lib = ctypes.CDLL(path)
    # a PyTorch before 2.4 lacks some; what they do is then not done
    hooks = {s: n for s, n in HOOKS.items() if hasattr(allocator.allocator(), s)}
    for setter, name in hooks.items():
        function = ctypes.cast(getattr(lib, name), ctypes.c_void_p).value
        getattr(allocator.allocator(), setter)(function)
    if "set_begin_allocate_to_pool" in hooks:
        lib.memtool_pools_announced()
    lib.memtool_hooks = sorted(hooks)
    torch.cuda.memory.change_current_allocator(allocator)
    return lib


def mem_pool(path="libmemtool_alloc.so", **options):
    """A torch.cuda.MemPool whose segments come from memtool; PyTorch's own allocator stays."""
    names = ("memtool_pool_malloc", "memtool_pool_free")
    allocator = torch.cuda.memory.CUDAPluggableAllocator(path, *names)
    pool = torch.cuda.MemPool(allocator.allocator(), **options)
    pool.memtool_allocator = allocator  # lives as long as the pool
    return pool
