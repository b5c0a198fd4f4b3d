cp "$TESTDATA/good/graphs.pickle" snap.pickle
"$MEMTOOL" memory snap.pickle
"$MEMTOOL" memory --sort count -n 2 snap.pickle
