# SPDX-License-Identifier: MIT
# Files beside snapshots, told by their content: traces and timelines of torch.profiler, RMM's log.
# Each answers what it can, and says what it cannot.
cp "$TESTDATA"/told/* .
for file in kineto.json.gz timeline.json timeline.raw.json.gz rmm.csv; do
    "$MEMTOOL" info $file | sed -n 2,9p
    "$MEMTOOL" peak -n 3 $file | grep -v note
    "$MEMTOOL" trace_plot -q -f -o plot.svg $file && grep -c '<svg' plot.svg
    "$MEMTOOL" stats --json $file | grep -E '^.{3}"(allocated|reserved|inactive_split)_bytes'
    "$MEMTOOL" leaks $file | grep -v note | head -n 1
    "$MEMTOOL" segments $file; echo "exit $?"
    "$MEMTOOL" summary $file; echo "exit $?"
    "$MEMTOOL" conf $file; echo "exit $?"
    "$MEMTOOL" trace_plot $file | sed -n '2,/^$/p'
    "$MEMTOOL" trace_plot --json $file | grep peak_reserved_bytes
done 2>&1
"$MEMTOOL" trace rmm.csv
"$MEMTOOL" peak --stack full kineto.json.gz | sed -n 5,12p
tail -n +2 rmm.csv | "$MEMTOOL" info - | grep -e written -e device
"$MEMTOOL" stats made_up_raw.json made_up_trace.json | grep allocated
echo '{"traceEvents": [{"name": "x", "ph": "X", "ts": 1}]}' > empty.json
"$MEMTOOL" info empty.json; echo "exit $?"
# Old releases wrote neither addresses nor sums; the host is no device.
cat > old.json <<'EOF'
{"traceEvents": [{"name": "[memory]", "ph": "i", "ts": 1, "args": {"Device Type": 1, "Device Id": 0, "Bytes": 1024}}]}
EOF
sed 's|Type": 1|Type": 0|' old.json > host.json
"$MEMTOOL" info old.json
"$MEMTOOL" info host.json
# RMM's log of an allocation that failed is no log without a failure.
"$MEMTOOL" triage rmm.csv | sed -n '/VERDICT/,/^$/p'
