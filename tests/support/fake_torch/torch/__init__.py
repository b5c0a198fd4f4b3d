# SPDX-License-Identifier: MIT
"""Stands in for PyTorch: what memtool capture touches of it, and a memory that runs out on request.
With the fake libcudart.so.13 in reach it also trains, in that its tensors take memory."""
import ctypes
import pickle
import time

__version__ = "2.11+fake"


class _C:
    observer = None

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
        return ptr.value

    held = ooms = 0

    @staticmethod
    def _record_memory_history(**settings):
        memory.recording = settings

    @staticmethod
    def _dump_snapshot(path):
        with open(path, "wb") as f:
            ooms = [{"action": "oom", "addr": 1 << 20, "device_free": 1 << 20, "size": 1 << 45, "stream": 0,
                     "time_us": 1, "frames": []}] * memory.ooms
            pickle.dump({"segments": [], "device_traces": [ooms]}, f)


class cuda:
    memory = memory
    queued = []

    @staticmethod
    def _lazy_call(function):
        cuda.queued.append(function)

    @staticmethod
    def init():
        while cuda.queued:
            cuda.queued.pop(0)()

    @staticmethod
    def synchronize():
        pass

    @staticmethod
    def mem_get_info():
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        ctypes.CDLL("libcudart.so.13").cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

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

    def __init__(self, size):
        self.ptr = memory.take(size)

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


class nn:
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


class optim:
    class AdamW:
        def __init__(self, parameters):
            self.moments = [Tensor(8 << 20) for _ in parameters]

        def zero_grad(self):
            pass

        step = zero_grad
