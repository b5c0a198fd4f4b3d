# The next command: triage after an OOM, peak with a trace, memory without.
for f in true_oom.pickle graphs.pickle no_traces.pickle; do
    cp "$TESTDATA/good/$f" .
    "$MEMTOOL" info "$f" | tail -n 1
done
