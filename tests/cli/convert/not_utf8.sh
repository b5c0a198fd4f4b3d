# Bytes that are no UTF-8, in names that PyTorch took from a file system or a broken library: what is
# written is loaded by Python and by JSON parsers, and the bytes come back, on every way.
python3 - <<'EOF'
import pickle
frames = [{"name": "f", "filename": "AAAA", "line": 1}, {"name": "\ud800", "filename": "BBBB", "line": 2},
          {"name": "\udcc3\udca9x", "filename": "C\udcff", "line": 3}, {"name": "\ud800\udcff", "filename": "caf\u00e9", "line": 4}]
event = {"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "frames": frames}
p = pickle.dumps({"segments": [], "device_traces": [[event]], "x_key": "AAAA", "AAAAk": 1, "raw": b"\xff\0a"}, 4)
open("raw.pickle", "wb").write(p.replace(b"AAAA", b"A\xff\xc3A").replace(b"BBBB", b"\xf0\x9f\x98B"))
EOF
convert() { "$MEMTOOL" convert "$@" || echo "convert $*: exit $?"; }
for p in 3 4 5; do convert --protocol $p raw.pickle -o direct.$p.pickle; done
convert raw.pickle -o raw.json
convert raw.json -o back.pickle
convert back.pickle -o back.json
convert --protocol 2 raw.json -o back.2.pickle
python3 - <<'EOF'
import json, pickle
frames = [("f", "A\udcff\udcc3A"), ("\ud800", "\udcf0\udc9f\udc98B"), ("\udcc3\udca9x", "C\udcff"), ("\ud800\udcff", "caf\u00e9")]
def told(s):
    return [(f["name"], f["filename"]) for f in s["device_traces"][0][0]["frames"]]
for f in "direct.3", "direct.4", "direct.5", "back", "back.2":
    s = pickle.load(open(f + ".pickle", "rb"))
    want = frames if f[0] == "d" else frames[:3] + [("\udced\udca0\udc80\udcff", "caf\u00e9")] # JSON has no such pair
    if told(s) != want or s["x_key"] != frames[0][1] or s["A\udcff\udcc3Ak"] != 1:
        print(f, ascii(s))
    if s["raw"] != (b"\xff\0a" if f[0] == "d" else "\udcff\0a"):
        print(f, ascii(s["raw"]))
if json.load(open("raw.json")) != json.load(open("back.json")):
    print("JSON differs")
if "A\udcff\udcc3A".encode("utf-8", "surrogateescape") != b"A\xff\xc3A":
    print("other bytes")
EOF
for f in raw back; do "$MEMTOOL" convert -q $f.pickle --format folded -o -; done
