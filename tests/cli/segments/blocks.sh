cp "$TESTDATA/good/graphs.pickle" snap.pickle
"$MEMTOOL" segments -v -q -n 2 snap.pickle
