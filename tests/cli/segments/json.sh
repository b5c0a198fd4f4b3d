cp "$TESTDATA/good/graphs.pickle" snap.pickle
"$MEMTOOL" segments --json -n 1 snap.pickle
