"$MEMTOOL" peak -n 2 "$TESTDATA/good/no_traces.pickle"
