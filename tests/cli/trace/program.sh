cp "$TESTDATA/good/streams.pickle" snap.pickle
"$MEMTOOL" trace -n 30 snap.pickle
