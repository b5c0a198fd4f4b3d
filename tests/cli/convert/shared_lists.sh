# SPDX-License-Identifier: MIT
# A list that a pickle names in several places counts in each: parts, runs and JSON have it as often.
counts() {
    python3 -c '
import json, sys
s = json.load(open(sys.argv[1]))
print(sys.argv[1], [len(t) for t in s["device_traces"]], [len(t) for t in s.get("host_traces", [])],
      sum(len(g["blocks"]) for g in s["segments"]))' "$1"
}
for f in shared_trace shared_host_trace shared_blocks; do
    cp "$TESTDATA/good/$f.pickle" .
    "$MEMTOOL" convert -q $f.pickle -o $f.json && counts $f.json
    "$MEMTOOL" convert -q --events 1:3 $f.pickle -o $f.part.json && counts $f.part.json
    [ $f != shared_blocks ] &&
        "$MEMTOOL" simulate -q --conf expandable_segments:True -o $f.run.json $f.pickle >/dev/null &&
        "$MEMTOOL" info -q $f.run.json >/dev/null && counts $f.run.json
done 2>&1
:
