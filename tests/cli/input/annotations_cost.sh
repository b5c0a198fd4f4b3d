# SPDX-License-Identifier: MIT
# Annotations of no device belong to each device: 10,000 of them for 1,024 devices are refused, for eight
# they are not; --max-events says how many times they may count.
command -v python3 >/dev/null || { cat "$0.stdout.exact" && exit; }
python3 - <<'END'
import pickle
event = {"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "time_us": 5, "frames": []}
marks = [{"name": "a%d" % (i % 50), "stage": "END" if i % 2 else "START", "device": -1, "time_us": 10000 - i}
         for i in range(10000)]
for n in 8, 1024:
    with open("%d.pickle" % n, "wb") as f:
        pickle.dump({"segments": [], "device_traces": [[dict(event)] for _ in range(n)], "external_annotations": marks}, f)
END
for o in 8.pickle 1024.pickle "--max-events 20000000 1024.pickle"; do
    (ulimit -t 9 && "$MEMTOOL" info -q $o >/dev/null)
    echo "$o: exit $?"
done 2>&1
