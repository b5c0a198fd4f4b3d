cp "$TESTDATA/good/context_ring3.pickle" snap.pickle
"$MEMTOOL" trace -n 12 snap.pickle
