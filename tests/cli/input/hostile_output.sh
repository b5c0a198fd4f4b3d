# Names in a snapshot that would act on a terminal, a browser or a spreadsheet: in no output of any
# verb do they stand raw.
cat >make.py <<'END'
import json
bad = ["\x1b]0;title\x07", "\x1b[2J\x1b[31mred", "\r over", "line\nbreak", "\u202egnp.exe\u202c", "\u2066a\u2069",
       "\x9b31m", "\u200b\u200f\u061c", "=HYPERLINK(\"http://x\";\"y\")", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(1)",
       "\t=1+1", "<script>alert(1)</script>", "]]>&lt;\"'", "</svg><x", "a;b", "$(touch x)`y`", "nul\0nul",
       "\udc80\udcff", "\ufeffbom", "\U000e0041tag", "\x7f", "'quoted'", "a,b", "\u2028ls\u2029ps"]
def frame(n):
    return {"name": n, "filename": "/home/" + n + "/train" + n + ".py", "line": 7}
events, blocks, addr, mib = [], [], 0x7f0000000000, 1 << 20
for i, n in enumerate(bad):
    stack = [frame(n), frame("main")]
    events.append({"action": "alloc", "addr": addr, "size": mib, "stream": 0, "time_us": 1000 + i, "frames": stack,
                   "user_metadata": n, "category": n, "compile_context": n})
    blocks.append({"address": addr, "size": mib, "requested_size": mib, "state": "active_allocated", "frames": stack})
    addr += mib
events.append({"action": "oom", "size": 1 << 30, "device_free": mib, "stream": 0, "time_us": 2000, "frames": [frame(bad[0])]})
events.append({"action": bad[0], "addr": addr, "size": 5, "stream": 0, "time_us": 2001, "frames": []})
total = len(bad) * mib
segment = {"device": 0, "address": 0x7f0000000000, "total_size": total, "allocated_size": total, "active_size": total,
           "requested_size": total, "stream": 0, "segment_type": "large", "segment_pool_id": [0, 0],
           "is_expandable": False, "frames": [frame(bad[0])], "blocks": blocks}
notes = [{"stage": s, "name": n, "device": 0, "time_us": t + i}
         for s, t in (("START", 1000), ("END", 1500)) for i, n in enumerate(bad)]
settings = {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64\x1b[31m=", "\x1b]0;k\x07": "\x1b[2J"}
json.dump({"segments": [segment], "device_traces": [events], "allocator_settings": settings,
           "external_annotations": notes, "\x1b[31munknown": "\x1b"}, open("bad.json", "w"))
END
cat >look.py <<'END'
import csv, gzip, os, re
FORMULA = re.compile(r"[=+\-@\t\r]")
NUMBER = re.compile(r"-?[0-9.]+(e[+-]?[0-9]+)?%?$")
def unsafe(c):
    n = ord(c)
    return (n < 32 and c not in "\n\t") or 0x7f <= n < 0xa0 or n in (0x61c, 0xfeff) or 0x200b <= n <= 0x200f or \
        0x2028 <= n <= 0x202e or 0x2060 <= n <= 0x206f or 0xe0000 <= n <= 0xe007f or 0xdc80 <= n <= 0xdcff
for name in sorted(os.listdir("out")):
    data = open("out/" + name, "rb").read()
    if name.endswith(".gz"):  # its own fields are bytes: the names are what is looked for
        data = gzip.decompress(data)
        if re.search(b"\x1b[]\\[]|\xe2\x80\xae|\xc2\x9b|\r over", data):
            print(name, "has a name raw")
        continue
    text = data.decode("utf-8", "surrogateescape")
    odd = sorted({"%04x" % ord(c) for c in text if unsafe(c)})
    if odd:
        print(name, "holds", *odd)
    if name.endswith((".svg", ".html")) and re.search("<script>alert|</svg><x", text):
        print(name, "holds markup")
    if name.endswith((".csv", ".tsv")):
        for row in csv.reader(text.splitlines(), delimiter="\t" if name.endswith("tsv") else ","):
            for cell in row:
                if FORMULA.match(cell) and not NUMBER.match(cell):
                    print(name, "holds a formula:", cell[:40])
print(len(os.listdir("out")), "outputs")
END
python3 make.py
mkdir out
n=100
run() {
    n=$((n + 1))
    "$MEMTOOL" "$@" >"out/$n.text" 2>"out/$n.err"
    [ $? -lt 6 ] || echo "exit of $*"
}
for v in info stats peak trace segments memory leaks frag summary triage simulate conf segment_plot; do
    run $v bad.json
    run $v --json bad.json
done
run peak -n 0 --stack full --full-path --all-frames bad.json
for by in annotation module category; do run peak --by $by -n 0 bad.json; done
run trace -n 0 -v --stack full --all-frames bad.json
run segments -v -n 0 --stack full bad.json
run leaks --json --temporary --pending bad.json
run compare bad.json bad.json
run compare -n 0 --json bad.json bad.json
cp bad.json bad2.json
run ranks bad.json bad2.json
run ranks --json bad.json bad2.json
run trace_plot --ascii bad.json
run trace_plot --json bad.json
run memory --format folded bad.json
run check --max-peak 1MiB --no-oom --junit out/junit.xml bad.json
for v in stats peak trace segments memory leaks; do
    "$MEMTOOL" $v -n 0 --stack full --csv bad.json >out/$v.csv
    "$MEMTOOL" $v -n 0 --stack full --tsv bad.json >out/$v.tsv
done
"$MEMTOOL" compare -n 0 --csv bad.json bad.json >out/compare.csv
"$MEMTOOL" ranks --csv bad.json bad2.json >out/ranks.csv
for name in bands.svg page.html; do "$MEMTOOL" trace_plot bad.json -o out/$name; done
"$MEMTOOL" trace_plot --per-alloc bad.json -o out/allocs.svg
"$MEMTOOL" segment_plot bad.json -o out/segments.svg
"$MEMTOOL" segment_plot bad.json -o out/segments.html
"$MEMTOOL" memory bad.json -o out/memory.svg
"$MEMTOOL" compare bad.json bad.json -o out/compare.svg
for name in x.json x.speedscope.json x.perfetto.json x.csv x.folded; do "$MEMTOOL" convert bad.json -o out/$name; done
"$MEMTOOL" convert --at peak bad.json -o out/x.pb.gz
# and what stands on the command line
esc=$(printf '\033[31m\033]0;x\007')
for o in device pool frame annotation at events time size "$esc"; do run peak --$o "$esc(" bad.json; done
run "$esc" bad.json
run explain "$esc"
run conf "max_split_size_mb:$esc"
run stats "$esc"
run stats bad.json -o "no/$esc"
python3 look.py
