cp "$TESTDATA/good/legacy.pickle" snap.pickle
"$MEMTOOL" memory snap.pickle
