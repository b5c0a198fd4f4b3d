# SPDX-License-Identifier: MIT
# The names of capture --tensors: by label, by filter, and by themselves where no stack was recorded; of
# memory that the trace has seen and of memory that is older.
cat >old.json <<'J'
{"segments": [{"device": 0, "address": 4096, "total_size": 20480, "allocated_size": 12288, "active_size": 12288,
 "requested_size": 12288, "stream": 0, "segment_type": "large", "segment_pool_id": [0, 0], "is_expandable": false, "frames": [],
 "blocks": [{"address": 4096, "size": 8192, "requested_size": 8192, "state": "active_allocated", "frames": []},
  {"address": 12288, "size": 4096, "requested_size": 4096, "state": "active_allocated", "frames": []},
  {"address": 16384, "size": 8192, "requested_size": 0, "state": "inactive", "frames": []}]}],
 "device_traces": [[]], "memtool_tensors": [
  {"device": 0, "address": 4096, "bytes": 8192, "kind": "parameter", "shape": "[2048]", "dtype": "float32", "name": "blocks.0.weight"},
  {"device": 1, "address": 12288, "bytes": 1, "name": "of another device"}, {"address": "x", "name": 3}, 7]}
J
"$MEMTOOL" peak -q old.json
"$MEMTOOL" peak -q --label 'blocks' --by stack --json old.json | grep '"count"' | head -1
"$MEMTOOL" info -v old.json 2>/dev/null | grep -c 'does not know'
"$MEMTOOL" convert -q old.json -o again.json && grep -c blocks.0.weight again.json
python3 - <<'P'
import json
trace, place = [], 1 << 20
def frame(line):
    return [{"filename": "train.py", "line": line, "name": "step"}]
for step in range(12):
    for size in (4 << 20, 8 << 20):
        trace.append({"action": "alloc", "addr": place, "size": size, "stream": 0, "time_us": len(trace), "frames": frame(size >> 20)})
        trace += [{"action": a, "addr": place, "size": size, "stream": 0, "time_us": len(trace), "frames": frame(1)}
                  for a in ("free_requested", "free_completed")]
    at = (1 << 30) + step * (2 << 20)
    trace.append({"action": "alloc", "addr": at, "size": 2 << 20, "stream": 0, "time_us": len(trace), "frames": frame(33)})
tensors = [{"device": 0, "address": (1 << 30) + i * (2 << 20), "bytes": 2 << 20, "name": "Trainer.history[]" if i else "x"} for i in range(12)]
json.dump({"segments": [], "device_traces": [trace], "memtool_tensors": tensors}, open("leak.json", "w"))
P
"$MEMTOOL" leaks -q leak.json | grep 'kept by'
"$MEMTOOL" leaks -q --json leak.json | grep kept_by
"$MEMTOOL" peak -q --by label leak.json | grep Trainer
