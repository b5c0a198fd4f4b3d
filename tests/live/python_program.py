# SPDX-License-Identifier: MIT
"""Python at the C door: stacks are Python's, and names and lines are right."""
import ctypes
import os
import pickle
import sys
import threading

library, path = sys.argv[1:3]
lib = ctypes.PyDLL(library)  # as PyTorch calls it: the GIL is held
free_threaded = ctypes.CDLL(library)  # the GIL is let go: no Python stack
for door in (lib, free_threaded):
    door.memtool_malloc.restype = ctypes.c_void_p
    door.memtool_malloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    door.memtool_free.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]


def inner(size):
    return lib.memtool_malloc(size, 0, None)


def outer(size):
    return inner(size)


assert lib.memtool_record(b"max_entries:1000000") == 0
first = outer(1000)
second = (lambda: outer(2000))()
third = free_threaded.memtool_malloc(3000, 0, None)
lib.memtool_free(first, 0, 0, None)


def churn():
    for i in range(2000):
        code = compile(f"\n\n\nuse({i % 7 + 1})", f"made_{i % 50}.py", "exec")
        exec(code, {"use": lambda n: lib.memtool_free(outer(n), 0, 0, None)})


threads = [threading.Thread(target=churn) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert lib.memtool_dump(os.fsencode(path)) == 0
snapshot = pickle.load(open(path, "rb"))
trace = snapshot["device_traces"][0]


def of(size):
    return next(e for e in trace if e["action"] == "alloc" and e["size"] == size)


here = os.path.basename(__file__)
frames = [(f["name"], os.path.basename(f["filename"]), f["line"]) for f in of(1000)["frames"]]
places = [(f.__name__, here, f.__code__.co_firstlineno + 1) for f in (inner, outer)]
assert frames[:2] == places, frames
assert frames[2][0] == "<module>" and len(frames) == 3, frames
assert [f["name"] for f in of(2000)["frames"]] == ["inner", "outer", "<lambda>", "<module>"]
assert "frames" not in of(3000), of(3000)
freed = next(e for e in trace if e["action"] == "free_requested" and e["size"] == 1000)
assert freed["frames"][0]["name"] == "<module>", freed
made = [f for e in trace for f in e.get("frames", []) if f["filename"].startswith("made_")]
assert len({f["filename"] for f in made}) == 50
assert all(f["line"] == 4 for f in made)
live = [b for s in snapshot["segments"] for b in s["blocks"] if b["state"] == "active_allocated"]
assert sorted(b["requested_size"] for b in live) == [2000, 3000], live
