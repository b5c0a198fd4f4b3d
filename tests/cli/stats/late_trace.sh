cp "$TESTDATA/good/context_ring3.pickle" snap.pickle
"$MEMTOOL" stats snap.pickle
