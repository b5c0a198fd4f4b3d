"$MEMTOOL" trace_plot --per-alloc -n 5 "$TESTDATA/good/streams.pickle" -o a.svg
grep -c "allocated at event" a.svg
grep -o "[0-9,]* smaller allocations" a.svg
"$MEMTOOL" trace_plot --per-alloc -s "$TESTDATA/good/streams.pickle" -o b.svg
