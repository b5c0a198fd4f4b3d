# SPDX-License-Identifier: MIT
# A few kilobytes that name one list again and again: refused by default, read when the user says so.
python3 - <<'END'
import pickle
def save(name, segments, traces):
    with open(name + ".pickle", "wb") as f:
        pickle.dump({"segments": segments, "device_traces": traces}, f)
def segment(i, blocks):
    return {"device": 0, "address": 4096 * i, "total_size": 512, "blocks": blocks}
block = {"size": 512, "state": "inactive"}
past = [{"addr": 4096, "real_size": i} for i in range(300)]
save("events", [], [[{"action": "alloc", "addr": i, "size": 512, "stream": 0} for i in range(300)]] * 250)
blocks = [dict(block) for i in range(300)]
save("blocks", [segment(i, blocks) for i in range(250)], [])
save("history", [segment(i, [dict(block, history=past)]) for i in range(250)], [])
END
for f in events blocks history; do
    "$MEMTOOL" info -q $f.pickle
    echo "$f: exit $?"
    "$MEMTOOL" info -q --max-events 74999 $f.pickle >/dev/null
    echo "$f, 74,999: exit $?"
    "$MEMTOOL" info -q --max-events 75000 $f.pickle >/dev/null
    echo "$f, 75,000: exit $?"
done 2>&1
echo '{"segments": [], "segments": []}' | "$MEMTOOL" info - 2>&1
:
