cp "$TESTDATA/good/no_traces.pickle" snap.pickle
"$MEMTOOL" trace snap.pickle
"$MEMTOOL" trace --json snap.pickle
