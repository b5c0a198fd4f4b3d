# SPDX-License-Identifier: MIT
"""Stands in for PyTorch: what memtool capture touches of it, and a memory that runs out on request.
With the fake libcudart.so.13 in reach it also trains, in that its tensors take memory."""
import ctypes
import pickle
import sys
import threading
import time

__version__ = "2.11+fake"


class _C:
    observer = None

    @staticmethod
    def _cuda_isHistoryEnabled():
        return memory.recording is not None

    @staticmethod
    def _cuda_attach_out_of_memory_observer(observer):
        _C.observer = observer


class OutOfMemoryError(RuntimeError):
    pass


class CUDAPluggableAllocator:
    def __init__(self, path, allocate, free):
        library = ctypes.CDLL(path)
        self.take, self.give, self.why = library[allocate], library[free], library.memtool_last_error
        self.take.restype, self.why.restype = ctypes.c_void_p, ctypes.c_char_p

    def allocator(self):
        return None  # without hooks


class memory:
    recording = None
    current = None
    CUDAPluggableAllocator = CUDAPluggableAllocator

    @staticmethod
    def change_current_allocator(allocator):
        memory.current = allocator

    @staticmethod
    def take(size):
        cuda.init()
        ptr = ctypes.c_void_p()
        if memory.current:
            ptr.value = memory.current.take(ctypes.c_ssize_t(size), 0, None)
            if not ptr.value:
                raise RuntimeError(memory.current.why().decode())
        elif ctypes.CDLL("libcudart.so.13").cudaMalloc(ctypes.byref(ptr), ctypes.c_size_t(size)) != 0:
            memory.ooms += 1
            if _C.observer:
                _C.observer(0, size, 0, 0)
            raise OutOfMemoryError("CUDA out of memory. Tried to allocate %d GiB." % (size >> 30))
        memory.held += size
        memory.live[ptr.value] = size
        if memory.recording is not None:
            memory.trace.append({"action": "alloc", "addr": ptr.value, "size": size, "stream": 0,
                                 "time_us": len(memory.trace) + 1, "frames": []})
        return ptr.value

    held = ooms = 0
    live = {}  # address -> size
    trace = []  # of the recording that is on
    switched = []  # on and off, in order

    @staticmethod
    def give(ptr):
        size = memory.live.pop(ptr)
        memory.held -= size
        ctypes.CDLL("libcudart.so.13").cudaFree(ctypes.c_void_p(ptr))
        if memory.recording is not None:
            memory.trace.extend({"action": action, "addr": ptr, "size": size, "stream": 0,
                                 "time_us": len(memory.trace) + 1, "frames": []}
                                for action in ("free_requested", "free_completed"))

    @staticmethod
    def memory_snapshot():
        return memory._snapshot()["segments"]

    annotates = None  # the thread whose annotations are recorded; 0: all threads

    @staticmethod
    def _record_memory_history(enabled="all", global_record_annotations=False, **settings):
        """As in 2.11 the callback that records annotations belongs to one thread, which alone can take it
        out again, or to all."""
        memory.recording = None if enabled is None else settings
        if memory.recording is not None and memory.annotates is None:
            memory.annotates = 0 if global_record_annotations else threading.get_ident()
        elif memory.recording is None and memory.annotates is not None:
            if memory.annotates not in (0, threading.get_ident()):
                sys.stderr.write("[W record_function.cpp:255] Requested callback is not found\n")
            memory.annotates = None
        memory.switched.append(enabled)
        memory.trace.clear()

    @staticmethod
    def _snapshot():
        segments = [{"device": 0, "address": ptr, "total_size": size, "allocated_size": size,
                     "active_size": size, "requested_size": size, "stream": 0, "segment_type": "large",
                     "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
                     "blocks": [{"address": ptr, "size": size, "requested_size": size,
                                 "state": "active_allocated", "frames": []}]}
                    for ptr, size in sorted(memory.live.items())]
        return {"segments": segments, "device_traces": [list(memory.trace)], "allocator_settings": {},
                "external_annotations": []}

    @staticmethod
    def _dump_snapshot(path):
        with open(path, "wb") as f:
            ooms = [{"action": "oom", "addr": 1 << 20, "device_free": 1 << 20, "size": 1 << 45, "stream": 0,
                     "time_us": 1, "frames": []}] * memory.ooms
            pickle.dump({"segments": [], "device_traces": [ooms]}, f)


class cuda:
    memory = memory
    queued = []
    begun = False

    @staticmethod
    def is_initialized():
        return cuda.begun

    @staticmethod
    def _lazy_call(function):
        cuda.queued.append(function)

    @staticmethod
    def init():
        cuda.begun = True
        while cuda.queued:
            cuda.queued.pop(0)()

    @staticmethod
    def synchronize():
        pass

    @staticmethod
    def mem_get_info(device=0):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        ctypes.CDLL("libcudart.so.13").cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    @staticmethod
    def device_count():
        return 1

    @staticmethod
    def get_device_properties(device):
        class Properties:
            name, uuid = "Fake card", "GPU-0"

        return Properties

    @staticmethod
    def memory_stats_as_nested_dict(device):
        held, n = {"all": {"current": memory.held}}, len(memory.live)
        return {"allocated_bytes": held, "reserved_bytes": held, "allocation": {"all": {"allocated": 10 * n}},
                "num_device_alloc": n, "num_device_free": 0, "num_alloc_retries": 0, "num_ooms": memory.ooms}

    @staticmethod
    def memory_reserved():
        if memory.current:
            raise RuntimeError("a pluggable allocator has no statistics")
        return memory.held


def run_out():
    _C.observer(0, 1 << 30, 1 << 30, 0)


# ---- enough to train ----


uint8 = 1


class Tensor:
    """What every operation gives back; only its memory is real."""

    is_cuda = is_leaf = True
    dtype = "torch.float32"
    grad = grad_fn = None

    class device:
        index = 0

    def __init__(self, size):
        self.ptr = memory.take(size)
        self.size = size
        self.shape = (size // 4,)

    def numel(self):
        return self.size // 4

    def untyped_storage(self):
        return self

    def data_ptr(self):
        return self.ptr

    def nbytes(self):
        return self.size

    def __matmul__(self, other):
        return self

    square = mean = lambda self: self

    def backward(self):
        time.sleep(0.001)


def manual_seed(seed):
    pass


def randn(rows, columns, device):
    return Tensor(4 * rows * columns)


def empty(size, dtype, device):
    return Tensor(size)


class Parameter(Tensor):
    pass


class nn:
    Parameter = Parameter

    class Module:
        def __init__(self):
            self._parameters, self._buffers, self._modules = {}, {}, {}

    class Linear:
        def __init__(self, rows, columns):
            self.size = 4 * rows * columns

    class Sequential:
        def __init__(self, *layers):
            self.layers = layers

        def cuda(self):
            self.weights = [Tensor(layer.size) for layer in self.layers]
            return self

        def parameters(self):
            return self.weights

        def __call__(self, x):
            return x


from . import optim  # noqa: E402
