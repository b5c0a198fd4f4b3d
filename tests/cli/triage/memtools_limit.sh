# SPDX-License-Identifier: MIT
# A limit that memtool's allocator kept to is set by its own call and variable, in programs of C and
# of PyTorch alike; and stacks that such a program lacks are not autograd's.
cat >as.py <<'P'
import json, sys
mode, kind = sys.argv[1:]
d = json.load(sys.stdin)
d["memtool"] = {"mode": mode, "devices": []}
def frames(f):
    return [dict(x, filename="/home/me/heat", line=0) for x in f] if kind == "c" else f
for s in d["segments"]:
    s["frames"] = frames(s.get("frames", []))
    for b in s["blocks"]:
        b["frames"] = frames(b.get("frames", []))
for e in d["device_traces"][0]:
    e["frames"] = [] if e["action"] == "alloc" and e["addr"] % 3 == 0 else frames(e.get("frames", []))
json.dump(d, sys.stdout)
P
for kind in "cache c" "allocator c" "allocator python"; do
    echo "== $kind"
    # shellcheck disable=SC2086
    "$MEMTOOL" convert "$TESTDATA/good/frag_oom.pickle" --format json -o - | python3 as.py $kind >snap.json
    "$MEMTOOL" triage snap.json | grep -E "memory_fraction|ALLOC_CONF"
    "$MEMTOOL" peak -n 3 snap.json | grep -o "(no .*)"
    "$MEMTOOL" trace_plot snap.json | grep -o "(no .*)"
done
