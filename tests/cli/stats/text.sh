cp "$TESTDATA/good/graphs.pickle" snap.pickle
"$MEMTOOL" stats snap.pickle
