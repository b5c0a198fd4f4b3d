# One event or block a line, all integers exact, tuples as lists, unknown keys kept.
"$MEMTOOL" convert "$TESTDATA/good/newest_keys.pickle" -o out.json
wc -l <out.json
grep -oE '"x_[a-z]*":(\{[^}]*\}|[^,}]*)' out.json | sort -u
grep -oE '"(host_segments|host_traces)":.*' out.json
grep -A 3 '"host_segments"' out.json | tail -n 3
"$MEMTOOL" convert "$TESTDATA/good/high_addresses.pickle" -o - --format json | grep -m 1 -oE '"address":[0-9]*'
