# SPDX-License-Identifier: MIT
"""memtool_torch.py with a stand-in for PyTorch that keeps the functions it is given and calls them as
PyTorch would, by their addresses: what each hook does, and what a MemPool gets."""
import ctypes
import importlib.util
import os
import pickle
import sys
import types

library, script, path = sys.argv[1:4]
CALLS = {  # setters of the object behind CUDAPluggableAllocator.allocator(), with what they set
    "set_reset_fn": ctypes.CFUNCTYPE(None),
    "set_memory_fraction_fn": ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_int),
    "set_record_stream_fn": ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p),
    "set_begin_allocate_to_pool": ctypes.CFUNCTYPE(
        None, ctypes.c_int8, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p),
    "set_end_allocate_to_pool_fn": ctypes.CFUNCTYPE(None, ctypes.c_int8, ctypes.c_uint64, ctypes.c_uint64),
    "set_release_pool": ctypes.CFUNCTYPE(None, ctypes.c_int8, ctypes.c_uint64, ctypes.c_uint64),
}
MALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)
FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)
changed = []
pools = []


class Behind:
    """What allocator() gives; `known` setters, for a PyTorch has more of them every year."""

    def __init__(self, known):
        self.hooks = {}
        for setter in known:
            setattr(self, setter, lambda address, s=setter: self.hooks.__setitem__(s, CALLS[s](address)))


class Pluggable:
    known = tuple(CALLS)

    def __init__(self, path, allocate, free):
        loaded = ctypes.CDLL(path)
        self.take = MALLOC(ctypes.cast(getattr(loaded, allocate), ctypes.c_void_p).value)
        self.give = FREE(ctypes.cast(getattr(loaded, free), ctypes.c_void_p).value)
        self.names, self.behind = (allocate, free), Behind(self.known)

    def allocator(self):
        return self.behind


def mem_pool(allocator, **options):
    pools.append((allocator, options))
    return types.SimpleNamespace()


memory = types.SimpleNamespace(CUDAPluggableAllocator=Pluggable, change_current_allocator=changed.append)
sys.modules["torch"] = types.SimpleNamespace(
    cuda=types.SimpleNamespace(memory=memory, MemPool=mem_pool))
spec = importlib.util.spec_from_file_location("memtool_torch", script)
memtool_torch = importlib.util.module_from_spec(spec)
spec.loader.exec_module(memtool_torch)
driver = ctypes.CDLL("libcuda.so.1")
driver.fake_cuda_used.restype = ctypes.c_uint64
driver.fake_cuda_calls.restype = ctypes.c_ulong
MIB = 1 << 20
driver.fake_cuda_reset(2, ctypes.c_uint64(1024 * MIB))

lib = memtool_torch.use(library)
(a,) = changed
hooks = a.behind.hooks
assert a.names == ("memtool_malloc", "memtool_free") and sorted(hooks) == sorted(CALLS) == lib.memtool_hooks


def stat(name):
    value = ctypes.c_int64()
    assert lib.memtool_stat(0, name.encode(), ctypes.byref(value)) == 0
    return value.value


# record_stream keeps memory until that stream is done
p = a.take(30 * MIB, 0, None)
driver.fake_cuda_hold_events(True)
hooks["set_record_stream_fn"](p, 0x70)
a.give(p, 30 * MIB, 0, None)
other = a.take(30 * MIB, 0, None)
assert other != p
driver.fake_cuda_hold_events(False)
assert a.take(30 * MIB, 0, None) == p

# empty_cache gives back what is idle, the fraction bounds what is held
a.give(other, 30 * MIB, 0, None)
assert driver.fake_cuda_used(0) == 60 * MIB
hooks["set_reset_fn"]()
assert driver.fake_cuda_used(0) == 30 * MIB
hooks["set_memory_fraction_fn"](0.05, 0)  # 51 MiB
assert not a.take(30 * MIB, 0, None) and stat("num_ooms") == 1
lib.memtool_last_error.restype = ctypes.c_char_p
assert b"memtool: refused by this process's limit" in lib.memtool_last_error()
hooks["set_memory_fraction_fn"](1.0, 0)
a.give(p, 30 * MIB, 0, None)

# a graph's pool: its memory is nobody else's until the graph is gone
stream = ctypes.c_void_p(0x90)
a.give(a.take(4096, 0, stream), 0, 0, stream)
asked = driver.fake_cuda_calls(b"cuStreamGetCaptureInfo_v2")
hooks["set_begin_allocate_to_pool"](0, 7, 0, None)
driver.fake_cuda_capture(stream, True)
captured = a.take(4096, 0, stream)
a.give(captured, 0, 0, stream)
driver.fake_cuda_capture(stream, False)
hooks["set_end_allocate_to_pool_fn"](0, 7, 0)
assert a.take(4096, 0, stream) != captured
held = driver.fake_cuda_used(0)
hooks["set_reset_fn"]()
assert driver.fake_cuda_used(0) >= 4 * MIB, "the graph's segment stays"
hooks["set_release_pool"](0, 7, 0)
hooks["set_reset_fn"]()
assert driver.fake_cuda_used(0) == 2 * MIB
assert driver.fake_cuda_calls(b"cuStreamGetCaptureInfo_v2") > asked
asked = driver.fake_cuda_calls(b"cuStreamGetCaptureInfo_v2")
a.give(a.take(4096, 0, stream), 0, 0, stream)
assert driver.fake_cuda_calls(b"cuStreamGetCaptureInfo_v2") == asked, "pools were announced"

# a MemPool of this thread
hooks["set_begin_allocate_to_pool"](0, 0, 9, None)
pooled = a.take(4096, 0, None)
hooks["set_end_allocate_to_pool_fn"](0, 0, 9)
a.give(pooled, 0, 0, None)
assert a.take(4096, 0, None) != pooled

# the segments of PyTorch's own MemPool: NULL where there is none, and nothing is thrown
pool = memtool_torch.mem_pool(library, use_on_oom=True)
(behind, options), = pools
b = pool.memtool_allocator
assert behind is b.behind and options == {"use_on_oom": True}
assert b.names == ("memtool_pool_malloc", "memtool_pool_free")
segment = b.take(20 * MIB, 1, None)
assert segment and driver.fake_cuda_used(1) == 20 * MIB
b.give(segment, 20 * MIB, 1, None)
assert not b.take(1 << 40, 1, None)
assert b"CUDA out of memory. Tried to allocate 1024.00 GiB" in lib.memtool_last_error()

# an older PyTorch
Pluggable.known = ("set_reset_fn", "set_record_stream_fn")
old = memtool_torch.use(library)
assert old.memtool_hooks == ["set_record_stream_fn", "set_reset_fn"]

assert lib.memtool_dump(os.fsencode(path)) == 0
with open(path, "rb") as f:
    segments = pickle.load(f)["segments"]
assert {(0, 9)} <= {s["segment_pool_id"] for s in segments}, segments
