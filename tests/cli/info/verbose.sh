cp "$TESTDATA/good/newest_keys.pickle" snap.pickle
"$MEMTOOL" info -v -q snap.pickle
