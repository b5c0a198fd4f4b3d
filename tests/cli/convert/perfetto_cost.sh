# SPDX-License-Identifier: MIT
# 60,000 annotations that never end, and as many ends of another name take no time.
command -v python3 >/dev/null || { cat "$0.stdout.exact" && exit; }
python3 - <<'END'
import pickle
events = [{"action": "alloc", "addr": 4096 + 512 * i, "size": 512, "stream": 0, "time_us": i, "frames": []} for i in range(10)]
marks = [{"name": "a%d" % i, "stage": "START", "device": 0, "time_us": i} for i in range(60000)]
marks += [{"name": "b", "stage": "END", "device": 0, "time_us": i} for i in range(60000)]
with open("marks.pickle", "wb") as f:
    pickle.dump({"segments": [], "device_traces": [events], "external_annotations": marks}, f)
END
ulimit -t 2
timeout 30 "$MEMTOOL" convert -q --format perfetto -o marks.json marks.pickle
echo "exit $?"
