cp "$TESTDATA/good/graphs.pickle" snap.pickle
"$MEMTOOL" stats --json snap.pickle
