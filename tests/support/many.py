#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes snapshots that have N of one thing each: work that grows faster than a file shows on them.

    many.py FOLDER N    whole recordings, that simulate can replay
"""
import os
import pickle
import sys

folder, N = sys.argv[1], int(sys.argv[2])
MIB = 1 << 20
BASE = 0x7F0000000000


def save(name, traces, segments=(), **more):
    state = {"segments": list(segments), "device_traces": traces, **more}
    with open(os.path.join(folder, name + ".pickle"), "wb") as f:
        pickle.dump(state, f, 4)


def event(action, addr, size, stream=0, **more):
    return {"action": action, "addr": addr, "size": size, "stream": stream, **more}


def used(i, size=2 * MIB, ask=MIB, **more):
    """A new segment and a block in it."""
    at = BASE + i * 32 * MIB
    return [event("segment_alloc", at, size, **more), event("alloc", at, ask, **more)]


def gone(i, size=2 * MIB, ask=MIB, **more):
    at = BASE + i * 32 * MIB
    return [event("free_requested", at, ask, **more), event("free_completed", at, ask, **more)]


def released(i, size=2 * MIB, **more):
    return [event("segment_free", BASE + i * 32 * MIB, size, **more)]


def segment(i, size=2 * MIB, ask=MIB, state="active_allocated", device=0, **more):
    at = BASE + i * 32 * MIB
    blocks = [{"address": at, "size": ask, "requested_size": ask, "state": state}]
    blocks += [{"address": at + ask, "size": size - ask, "requested_size": 0, "state": "inactive"}]
    active = ask if state != "inactive" else 0
    return {"device": device, "address": at, "total_size": size, "allocated_size": active, "active_size": active,
            "requested_size": active, "stream": 0, "segment_type": "small", "is_expandable": False, "blocks": blocks, **more}


def each(make):
    return [e for i in range(N) for e in make(i)]


def frame(i, name="f%d"):
    return [{"name": name % i, "filename": "a%d.py" % i, "line": i}]


# private pools, named by the events or by the segments alone, in use, left, and given back
pool = lambda i: {"pool_id": (i + 1, 0)}
save("pools", [each(lambda i: used(i, **pool(i)))], [segment(i, segment_pool_id=(i + 1, 0)) for i in range(N)])
save("pools_left", [each(lambda i: used(i, **pool(i)) + gone(i, **pool(i)))])
save("pools_given_back", [each(lambda i: used(i, **pool(i)) + gone(i, **pool(i)) + released(i, **pool(i)))])
save("pools_of_segments", [each(used)], [segment(i, segment_pool_id=(i + 1, 0)) for i in range(N)])
save("pools_and_oom", [each(lambda i: used(i, **pool(i)) + [event("oom", 0, 64 * MIB, device_free=0)])])
# streams, devices, segments
save("streams", [each(lambda i: used(i, stream=i))])
save("streams_left", [each(lambda i: used(i, stream=i) + gone(i, stream=i))])
save("streams_given_back", [each(lambda i: used(i, stream=i) + gone(i, stream=i) + released(i, stream=i))])
save("streams_oom", [each(lambda i: used(i, stream=i) + gone(i, stream=i) + [event("oom", 0, 64 * MIB, device_free=0)])])
save("devices", [used(i) + gone(i) for i in range(min(N, 1000))])
save("segments", [each(used)], [segment(i) for i in range(N)])
save("segments_left", [each(lambda i: used(i) + gone(i))], [segment(i, state="inactive") for i in range(N)])
save("segments_given_back", [each(lambda i: used(i) + gone(i) + released(i))])
save("segments_down", [[e for i in reversed(range(N)) for e in used(i)]], [segment(i) for i in reversed(range(N))])
save("segments_oom", [each(lambda i: used(i) + gone(i) + [event("oom", 0, 64 * MIB, device_free=0)])])
save("segments_nested", [[event("segment_alloc", BASE + i * 512, (2 * N - i) * 512) for i in range(N)]])
# one expandable segment of many pages, mapped and unmapped
at = lambda i: BASE + i * 2 * MIB
save("mapped", [each(lambda i: [event("segment_map", at(i), 2 * MIB), event("alloc", at(i), 2 * MIB)])])
save("mapped_apart", [each(lambda i: [event("segment_map", at(2 * i), 2 * MIB), event("alloc", at(2 * i), 2 * MIB)])])
save("unmapped", [each(lambda i: [event("segment_map", at(i), 2 * MIB)]) + each(lambda i: [event("segment_unmap", at(i), 2 * MIB)])])
# blocks of one segment: all alive, freed in turn, freed backwards, each of another size
small = lambda i, more=0: event("alloc", BASE + i * 2 * 512, 512 + more)
free = lambda i, what="free_completed": event(what, BASE + i * 2 * 512, 512)
whole = [event("segment_alloc", BASE, N * 1024 + 2 * MIB)]
save("blocks", [whole + each(lambda i: [small(i)])])
save("blocks_freed", [whole + each(lambda i: [small(i)]) + each(lambda i: [free(i, "free_requested"), free(i)])])
save("blocks_freed_down", [whole + each(lambda i: [small(i)]) + each(lambda i: [free(N - 1 - i)])])
save("blocks_pending", [whole + each(lambda i: [small(i)]) + each(lambda i: [free(i, "free_requested")])])
save("blocks_overlap", [[event("alloc", BASE + i * 512, (2 * N - i) * 512) for i in range(N)]])
save("one_address", [[event("alloc", BASE, 512 * (i + 1)) for i in range(N)]])
save("free_alone", [each(lambda i: [free(i)])])
save("sizes", [each(lambda i: [event("alloc", BASE + i * 64 * MIB, 512 * (i + 1)), event("free_completed", BASE + i * 64 * MIB, 512 * (i + 1))])])
save("snapshots", [each(lambda i: used(i) + [event("snapshot", 0, 0)])])
save("ooms", [each(lambda i: [event("oom", 0, 64 * MIB, device_free=0)])])
# texts: stacks, labels, annotations, unknown keys
save("stacks", [each(lambda i: [dict(small(i), frames=frame(i))])])
save("stacks_deep", [[dict(small(i), frames=[f for k in range(20) for f in frame((i * 7 + k * k) % N)]) for i in range(N // 20)]])
save("labels", [each(lambda i: [dict(small(i), user_metadata="m%d" % i)])])
save("contexts", [each(lambda i: [dict(small(i), compile_context="%d/0" % i)])])
save("categories", [each(lambda i: [dict(small(i), category="c%d" % i)])])
save("unknown_keys", [each(lambda i: [dict(small(i), **{"k%d" % i: i})])])
save("unknown_top", [each(lambda i: [small(i)])], **{"k%d" % i: i for i in range(N)})
time = lambda i: {"time_us": 1700000000000000 + 10 * i}
timed = [whole + each(lambda i: [dict(small(i), **time(i))])]


def mark(i, name, stage):
    return {"name": name, "stage": stage, "device": 0, **time(i)}


save("annotations", timed, external_annotations=each(lambda i: [mark(i, "a%d" % i, "START"), mark(i + 1, "a%d" % i, "END")]))
save("annotations_open", timed, external_annotations=each(lambda i: [mark(i, "a%d" % i, "START")]))
save("annotations_nested", timed, external_annotations=each(lambda i: [mark(i, "a%d" % i, "START")]) +
     each(lambda i: [mark(N + i, "a%d" % (N - 1 - i), "END")]))
save("annotations_crossed", timed, external_annotations=each(lambda i: [mark(i, "a%d" % i, "START")]) +
     each(lambda i: [mark(N + i, "a%d" % i, "END")]))
save("annotations_of_one_name", timed, external_annotations=each(lambda i: [mark(i, "a", "START")]) +
     each(lambda i: [mark(N + i, "a", "END")]))
save("steps", timed, external_annotations=each(lambda i: [mark(i, "## Step %d ##" % i, "START"), mark(i + 1, "## Step %d ##" % i, "END")]))
save("steps_in_frames", [whole + each(lambda i: [dict(small(i), frames=frame(i, "step%d")), free(i)])])
