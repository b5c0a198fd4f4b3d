cp "$TESTDATA/good/graphs.pickle" snap.pickle
"$MEMTOOL" trace --live --size 1MiB: snap.pickle
"$MEMTOOL" trace --freed -n 4 snap.pickle
