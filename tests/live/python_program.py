# SPDX-License-Identifier: MIT
"""Python at the C door: stacks are Python's, and names and lines are right."""
import ctypes
import os
import pickle
import sys
import threading

library, path = sys.argv[1:3]
lib = ctypes.PyDLL(library)  # as PyTorch calls it: the GIL is held
without_gil = ctypes.CDLL(library)  # the GIL is let go, which is what PyTorch does too
for door in (lib, without_gil):
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
third = without_gil.memtool_malloc(3000, 0, None)
lib.memtool_free(first, 0, 0, None)


def free_outside(ptr):
    without_gil.memtool_free(ptr, 0, 0, None)


def churn():
    for i in range(2000):
        code = compile(f"\n\n\nuse({i % 7 + 1})", f"made_{i % 50}.py", "exec")
        exec(code, {"use": lambda n: (free_outside if i % 2 else lambda p: lib.memtool_free(p, 0, 0, None))(outer(n))})


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
assert [f["name"] for f in of(3000)["frames"]] == ["<module>"], of(3000)
freed = next(e for e in trace if e["action"] == "free_requested" and e["size"] == 1000)
assert freed["frames"][0]["name"] == "<module>", freed
made = [f for e in trace for f in e.get("frames", []) if f["filename"].startswith("made_")]
assert len({f["filename"] for f in made}) == 50
outside = [e for e in trace if e["action"] == "free_requested" and e.get("frames", [{}])[0].get("name") == "free_outside"]
assert len(outside) == 4000, len(outside)
assert all(f["filename"].startswith("made_") for e in outside for f in e["frames"][2:3]), outside[0]
assert all(f["line"] == 4 for f in made)
live = [b for s in snapshot["segments"] for b in s["blocks"] if b["state"] == "active_allocated"]
assert sorted(b["requested_size"] for b in live) == [2000, 3000], live

# annotations, and rings that stay as long as was asked for
assert lib.memtool_record(b"max_entries:100,stacks:none") == 0
lib.memtool_annotate_begin(b"a step", 0)
for i in range(200):
    lib.memtool_free(lib.memtool_malloc(500 + i, 0, None), 0, 0, None)
lib.memtool_annotate_end(b"a step", 0)
assert lib.memtool_dump(os.fsencode(path)) == 0
snapshot = pickle.load(open(path, "rb"))
trace = snapshot["device_traces"][0]
assert len(trace) == 100 and trace[-1]["action"] == "free_completed" and trace[-1]["size"] == 699, trace[-1]
marks = [(m["stage"], m["name"], m["device"]) for m in snapshot["external_annotations"]]
assert marks == [("START", "a step", 0), ("END", "a step", 0)], marks

# both kinds: Python's frames stand where the interpreter's loop ran, C's before and behind it
assert lib.memtool_record(b"max_entries:1000000,stacks:all") == 0
last = outer(9000)
assert lib.memtool_dump(os.fsencode(path)) == 0
trace = pickle.load(open(path, "rb"))["device_traces"][0]
names = [f["name"] for f in of(9000)["frames"]]
at = names.index("inner")
assert names[at:at + 3] == ["inner", "outer", "<module>"], names
assert at > 0 and not any("memtool" in f["filename"] for f in of(9000)["frames"][1:at]), names
assert "Py_RunMain" in names[at + 3:] or "Py_BytesMain" in names[at + 3:], names
assert not any(n.startswith("_PyEval_EvalFrame") for n in names), names
