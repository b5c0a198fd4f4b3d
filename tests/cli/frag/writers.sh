# SPDX-License-Identifier: MIT
# What to call, and which variable to set, is that of the program that was recorded: memtool's own
# captures of programs of C know no torch.cuda.empty_cache().
cat >make.py <<'P'
import json, sys
mode, file, line, name = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
frames = [{"filename": file, "line": line, "name": name}]
step = 0
def event(action, addr, size):
    global step
    step += 1
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": 1000 * step, "frames": frames}
a, b, c, size = 0x10000000, 0x20000000, 0x30000000, 64 << 20
events = [event("segment_alloc", c, size), event("alloc", c, size)]
for _ in range(12):
    for addr in a, b:
        events += [event("segment_alloc", addr, size), event("alloc", addr, size)]
    for addr in a, b:
        events += [event("free_requested", addr, size), event("free_completed", addr, size)]
        events += [event("segment_free", addr, size)]
    events += [event("free_requested", c, size), event("free_completed", c, size), event("alloc", c, size)]
events += [event("segment_alloc", addr, size) for addr in (a, b)]
segments = [{"device": 0, "address": addr, "total_size": size, "allocated_size": used, "active_size": used,
             "stream": 0, "segment_type": "large", "segment_pool_id": [0, 0], "is_expandable": False, "frames": frames,
             "blocks": [{"address": addr, "size": size, "requested_size": size, "frames": frames,
                         "state": "active_allocated" if used else "inactive"}]}
            for addr, used in ((a, 0), (b, 0), (c, size))]
if mode == "record": # has no free segments
    segments, events = segments[2:], events[:-2]
whole = {"segments": segments, "device_traces": [events], "external_annotations": []}
if mode != "record":
    whole["allocator_settings"] = {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:99"}
if mode != "torch":
    whole["memtool"] = {"mode": mode, "devices": []}
json.dump(whole, open("snap.json", "w"))
whole["device_traces"] = [[]]
json.dump(whole, open("bare.json", "w"))
P
look() {
    echo "== $*"
    python3 make.py "$@"
    "$MEMTOOL" frag snap.json | grep -A1 -E "give|taken again|there is no cache|not known|Fix|a cache, not"
    "$MEMTOOL" frag --json snap.json | grep -o "\"fix\":.*"
    "$MEMTOOL" conf snap.json 2>&1 | head -2
    "$MEMTOOL" conf --json snap.json 2>/dev/null | grep "\"variable\""
    "$MEMTOOL" simulate bare.json
}
look torch train.py 7 step 2>&1
look record /home/me/heat 0 step 2>&1
look record /v/site-packages/torch/lib/libtorch_cpu.so 0 _ZN2at4_ops3sum4callERKNS_6TensorE 2>&1
look cache /home/me/heat 0 step 2>&1
look allocator /home/me/heat 0 step 2>&1
look allocator train.py 7 step 2>&1
