# SPDX-License-Identifier: MIT
# No machine has more than 1,024 devices; a file that says so is refused.
python3 - <<'END'
import json
def save(name, segments, traces):
    json.dump({"segments": segments, "device_traces": traces}, open(name + ".json", "w"))
def segments(numbers):
    return [{"device": i, "address": 4096, "total_size": 512, "blocks": []} for i in numbers]
save("most", segments(range(1024)), [])
save("segments", segments(range(1025)), [])
save("below_zero", segments(range(-1025, 0)), [])
save("traces", [], [[{"action": "alloc", "addr": 4096, "size": 512, "stream": 0}]] * 1025)
save("empty", [], [[]] * 1025)
END
for f in most segments below_zero traces empty; do
    "$MEMTOOL" info -q $f.json >/dev/null
    echo "$f: exit $?"
done 2>&1
:
