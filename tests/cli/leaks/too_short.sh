"$MEMTOOL" leaks "$TESTDATA/good/graphs.pickle"
"$MEMTOOL" leaks "$TESTDATA/good/no_traces.pickle"
"$MEMTOOL" leaks --period 3000 "$TESTDATA/good/leak.pickle.gz" | head -1
