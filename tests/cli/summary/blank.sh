"$MEMTOOL" summary "$TESTDATA/good/context_ring3.pickle"
