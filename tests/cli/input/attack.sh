# Files that once broke something, by every verb that reads a snapshot: each call ends as it should,
# what is written reads back, and every event counts as often as it is named.
cp "$TESTDATA"/attack/*.pickle .
mkdir d && cp time_jump.pickle d
read_back() { # FILE: its events by device
    python3 -c '
import json, sys
s = json.load(sys.stdin)
print(sys.argv[1], len(s["device_traces"]), "traces of", *sorted({len(t) for t in s["device_traces"]}), "events")' "$1"
}
for f in *.pickle; do
    while read -r line; do
        "$MEMTOOL" $line "$f" >out 2>err || echo "exit $?: $line $f: $(head -n 1 err)"
    done <<'LINES'
info -v
info --json
triage -v
stats
stats --json
peak --by category
peak --json
leaks --temporary --pending
leaks --json
frag
frag --json --at peak
simulate
simulate --json --conf expandable_segments:True
simulate -q --conf expandable_segments:True -f -o run.json
summary
trace -n 0
trace --json
segments -v
memory --stack full
memory --format folded
trace_plot --ascii --x time
trace_plot --json
trace_plot -f -o out.svg
trace_plot -f --x time -o time.svg
trace_plot -f -o out.html
segment_plot --at peak -f -o state.svg
segment_plot -f -o state.html
ranks d/time_jump.pickle
compare time_jump.pickle
check --max-peak 1TiB --no-oom
convert -q -f -o out.json
convert -q -f -o out.perfetto.json
convert -q -f -o out.csv
convert -q -f --events 0:40 -o part.json
LINES
    for part in out part run; do "$MEMTOOL" convert -q $part.json -o - --format json | read_back "${f%.pickle} $part"; done
    command -v xmllint >/dev/null && xmllint --noout ./*.svg
done 2>&1
"$MEMTOOL" trace --json time_jump.pickle | grep -o '"time_us":[^,]*'
"$MEMTOOL" trace_plot --json time_jump.pickle | grep -o '"[a-z_]*us":[^,]*' | sort | uniq -c | sed 's/^ *//'
