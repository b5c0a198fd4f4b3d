#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes snapshots that are small as files and large in what they name.

    hostile.py FOLDER [BYTES]    each file has about BYTES (1,000,000)
"""
import os
import pickle
import sys

folder = sys.argv[1]
size = int(sys.argv[2]) if len(sys.argv) > 2 else 1000000


def save(name, segments=(), traces=(), **more):
    state = {"segments": list(segments), "device_traces": list(traces), **more}
    with open(os.path.join(folder, name + ".pickle"), "wb") as f:
        pickle.dump(state, f, 4)


def event(i, **more):
    action = "free_completed" if i % 2 else "alloc"
    return {"action": action, "addr": 4096 + 512 * (i // 2), "size": 512, "stream": 0, **more}


def block(i, **more):
    return {"size": 512, "state": "active_allocated", "address": 4096 + 512 * i, **more}


def segment(i, blocks, **more):
    return {"device": 0, "address": blocks[0]["address"], "total_size": 512 * len(blocks),
            "segment_type": "small", "stream": 0, "blocks": blocks, **more}


def frames(n):
    return [{"name": "f%d" % i, "filename": "a.py", "line": i} for i in range(n)]


n = size // 100  # records, at 40 to 80 bytes each, beside what they share
some = n // 4

# one list in many places
blocks = [block(i) for i in range(some)]
save("shared_blocks", [segment(i, blocks) for i in range(n)])
save("shared_trace", traces=[[event(i) for i in range(n)]] * n)
save("shared_trace_once", traces=[[event(i) for i in range(min(n, 65536))]] * 2)
past = [{"addr": 4096, "real_size": 512, "frames": frames(1)} for i in range(n)]
save("shared_history", [segment(i, [block(i, history=past)]) for i in range(n)])

# long stacks, one for all or each another turn of it
deep = frames(n)
save("deep_stack_of_events", traces=[[event(i, frames=deep) for i in range(n)]])
save("deep_stack_of_blocks", [segment(i, [block(i, frames=deep)]) for i in range(n // 2)])
turns = min(500, some)
save("turned_stacks", traces=[[event(i, frames=deep[i % turns:turns] + deep[:i % turns])
                               for i in range(size // (4 * turns))]])

# one long name in many frames, and annotations within annotations
some_frames = size // 25
for name, key in ("long_path", "filename"), ("long_function", "name"):
    long = "x" * (4 * size)
    many = [{**frame, key: long, "line": i} for i, frame in enumerate(frames(some_frames))]
    save(name, [segment(i, [block(i, frames=[many[i]])]) for i in range(n // 2)],
         [[event(i, frames=[many[i]]) for i in range(some_frames)]])
for name, ends in ("nested_annotations", 0), ("nested_annotations_that_end", 1):
    save(name, traces=[[event(2 * i, time_us=i) for i in range(size // 25)]], external_annotations=[
        {"name": "a%d" % (i // 2 if ends else i), "stage": "END" if ends and i % 2 else "START",
         "device": 0, "time_us": (size // 50) * (i % 2) * ends + (i // 2 if ends else i)}
        for i in range(size // 25)])
long = "x" * (4 * size)
save("long_annotations", traces=[[event(2 * i, time_us=i) for i in range(some)]],
     external_annotations=[{"name": long, "stage": "START", "device": 0, "time_us": i}
                           for i in range(size // 25)])

# many devices and traces
save("devices_of_segments", [segment(i, [block(i)], device=i) for i in range(n)])
save("devices_below_zero", [segment(i, [block(i)], device=-i) for i in range(n)])
save("devices_of_traces", traces=[[event(0)] for i in range(2 * n)])
save("devices_at_the_limit", [segment(i, [block(i)], device=i % 1024) for i in range(n)],
     [[event(i), event(i + 1)] for i in range(1024)])
save("empty_traces", traces=[[] for i in range(size // 2)])

laughs = []
for i in range(200):
    laughs = [laughs, laughs]
save("laughs", x=laughs)
