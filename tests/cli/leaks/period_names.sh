# SPDX-License-Identifier: MIT
# A name need not be whole, nor its number the one that is there; one that nothing has is refused.
cat >make.py <<'END'
import json
events, notes, t = [], [], 1000
for step in range(12):
    notes.append({"stage": "START", "name": "## step %d ##" % step, "device": 0, "time_us": t})
    notes.append({"stage": "START", "name": "warm/up", "device": 0, "time_us": t})
    for addr in (1, 2):
        events.append({"action": "alloc", "addr": addr << 20, "size": 1 << 20, "stream": 0, "time_us": t, "frames": []})
        t += 1
    for addr in (1, 2):
        events.append({"action": "free_completed", "addr": addr << 20, "size": 1 << 20, "stream": 0, "time_us": t,
                       "frames": []})
        t += 1
json.dump({"segments": [], "device_traces": [events], "external_annotations": notes}, open("a.json", "w"))
END
python3 make.py
for name in 'step' '## step' '## step 3 ##' '## step 99 ##' Step st 'warm'; do
    "$MEMTOOL" leaks -q --period "$name" a.json | sed -n 2p
done
"$MEMTOOL" leaks -q --period foo a.json || echo "exit $?"
"$MEMTOOL" leaks -q --period foo --json a.json || echo "exit $?"
cp "$TESTDATA/good/mlp.pickle.gz" mlp.pickle.gz
"$MEMTOOL" leaks -q --period foo mlp.pickle.gz || echo "exit $?"
