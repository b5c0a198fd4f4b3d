cp "$TESTDATA/good/graphs.pickle" snap.pickle
"$MEMTOOL" info snap.pickle
