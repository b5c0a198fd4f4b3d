# SPDX-License-Identifier: MIT
"""Stands in for PyTorch: what memtool capture touches of it, and a memory that runs out on request."""
import pickle

__version__ = "2.11+fake"


class _C:
    observer = None

    @staticmethod
    def _cuda_attach_out_of_memory_observer(observer):
        _C.observer = observer


class memory:
    recording = None

    @staticmethod
    def _record_memory_history(**settings):
        memory.recording = settings

    @staticmethod
    def _dump_snapshot(path):
        with open(path, "wb") as f:
            pickle.dump({"segments": [], "device_traces": [[]]}, f)


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


def run_out():
    _C.observer(0, 1 << 30, 1 << 30, 0)
