# SPDX-License-Identifier: MIT
# That names and files of the stacks alone are larger than the limit is known before anything is written.
command -v python3 >/dev/null || exit 0
python3 - <<'P'
import pickle
deep = [{"name": "f%d" % i + "x" * 20, "filename": "a.py", "line": i} for i in range(20000)]
event = lambda i: {"action": "alloc", "addr": 4096 + 512 * i, "size": 512, "stream": 0, "frames": deep}
pickle.dump({"segments": [], "device_traces": [[event(i) for i in range(30000)]]}, open("deep.pickle", "wb"), 4)
P
for line in "convert -o c.json" "trace --json -v -n 0"; do
    (ulimit -t 5 && "$MEMTOOL" $line -q deep.pickle 2>&1 | head -c 300)
done
ls
