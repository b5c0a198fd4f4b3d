# The call of the driver for the first request of a step is recorded before it: it is of that step.
python3 - >snap.json <<'P'
import json
frames = [{"filename": "train.py", "line": 7, "name": "step"}]
events, address = [], 1 << 30
def event(action, addr, size):
    events.append({"action": action, "addr": addr, "size": size, "stream": 0, "time_us": 1000 * len(events), "frames": frames})
for _ in range(8):
    for size in 32 << 20, 64 << 20, 128 << 20:
        address += size
        event("segment_alloc", address, size)
        event("alloc", address, size)
        event("free_requested", address, size)
        event("free_completed", address, size)
print(json.dumps({"segments": [], "device_traces": [events]}))
P
"$MEMTOOL" steps --csv snap.json | cut -d, -f1,2,7,9,10
