# Exports opened by programs that are not memtool, where these are installed: their sums are those of
# `peak`, and the rules of their formats hold.
cp "$TESTDATA/good/hostile_names.pickle" hostile.pickle
gzip -dc "$TESTDATA/good/transformer.pickle.gz" >snap.pickle
for f in snap hostile; do
    peak=$("$MEMTOOL" peak --json $f.pickle | sed -n 's/.*"peak_requested_bytes":.\([0-9]*\).*/\1/p')
    "$MEMTOOL" convert -q --at peak $f.pickle -o $f.folded
    sum=$(awk '{ sum += $NF } END { printf "%d", sum }' $f.folded)
    [ "$sum" = "$peak" ] || echo "$f.folded: sum $sum, peak $peak"
    for x in speedscope.json perfetto.json csv pb.gz; do "$MEMTOOL" convert -q --at peak $f.pickle -o $f.$x; done
    if command -v node >/dev/null; then
        node - $f "$peak" <<'EOF'
const fs = require("fs"), [f, peak] = process.argv.slice(2);
const fail = (why) => console.log(`${f}: ${why}`);
const s = JSON.parse(fs.readFileSync(f + ".speedscope.json"));
for (const p of s.profiles) {
  if (p.type !== "sampled" || p.unit !== "bytes" || p.samples.length !== p.weights.length) fail("profile");
  if (p.weights.reduce((a, b) => a + b, 0) !== p.endValue) fail("weights do not sum to endValue");
  for (const i of p.samples.flat()) if (!s.shared.frames[i] || typeof s.shared.frames[i].name !== "string") fail("frame " + i);
}
if (s.profiles[0].endValue !== Number(peak)) fail("live at the peak is not the peak");
if (!s.$schema.startsWith("https://www.speedscope.app/")) fail("schema");
const open = new Map();
let top = 0;
for (const e of JSON.parse(fs.readFileSync(f + ".perfetto.json")).traceEvents) {
  if (!"MCXibe".includes(e.ph) || !Number.isInteger(e.ts) || !Number.isInteger(e.pid) || typeof e.name !== "string") fail("event " + JSON.stringify(e));
  if (e.ph === "X" && !(e.dur >= 0)) fail("slice without a length");
  if (e.ph === "C" && e.name === "live bytes") top = Math.max(top, e.args.bytes);
  if (e.ph === "b") { if (open.has(e.id)) fail("id twice"); open.set(e.id, e.ts); }
  if (e.ph === "e") { if (!(open.get(e.id) <= e.ts)) fail("end before begin"); open.delete(e.id); }
}
if (open.size) fail("slices that never end");
if (top !== Number(peak)) fail("highest counter is not the peak");
EOF
    fi
    if command -v protoc >/dev/null; then
        cat >profile.proto <<'EOF'
syntax = "proto3";
message Profile { repeated ValueType sample_type = 1; repeated Sample sample = 2; repeated Location location = 4;
  repeated Function function = 5; repeated string string_table = 6; int64 default_sample_type = 14; }
message ValueType { int64 type = 1; int64 unit = 2; }
message Sample { repeated uint64 location_id = 1; repeated int64 value = 2; repeated Label label = 3; }
message Label { int64 key = 1; int64 str = 2; int64 num = 3; }
message Location { uint64 id = 1; repeated Line line = 4; }
message Line { uint64 function_id = 1; int64 line = 2; }
message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4; int64 start_line = 5; }
EOF
        gzip -dc $f.pb.gz | protoc --decode=Profile profile.proto >$f.txt 2>err || cat err
        # of the four values of each sample the last is what is alive
        sum=$(awk '/^sample {/ { n = 0 } /^  value:/ && ++n == 4 { sum += $2 } END { printf "%d", sum }' $f.txt)
        [ "$sum" = "$peak" ] || echo "$f.pb.gz: sum $sum, peak $peak"
    fi
    if command -v python3 >/dev/null; then
        python3 - $f.csv "$peak" <<'EOF'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
if max(int(r["live_bytes"]) for r in rows) != int(sys.argv[2]): print(sys.argv[1], "highest live is not the peak")
if any(None in r or None in r.values() for r in rows): print(sys.argv[1], "a row with too few or too many cells")
if any(c[:1] in "=+@" and c for r in rows for c in r.values()): print(sys.argv[1], "a cell that a spreadsheet would run")
EOF
    fi
done
echo opened
