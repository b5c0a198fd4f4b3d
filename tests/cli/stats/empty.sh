cp "$TESTDATA/good/empty.pickle" snap.pickle
"$MEMTOOL" stats snap.pickle
"$MEMTOOL" stats --json snap.pickle
