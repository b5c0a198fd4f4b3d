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
done 2>&1
"$MEMTOOL" trace rmm.csv
"$MEMTOOL" peak --stack full kineto.json.gz | sed -n 5,12p
tail -n +2 rmm.csv | "$MEMTOOL" info - | grep -e written -e device
"$MEMTOOL" stats made_up_raw.json made_up_trace.json | grep allocated
echo '{"traceEvents": [{"name": "x", "ph": "X", "ts": 1}]}' > empty.json
"$MEMTOOL" info empty.json; echo "exit $?"
