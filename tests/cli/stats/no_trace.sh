cp "$TESTDATA/good/list_only.pickle" snap.pickle
"$MEMTOOL" stats -n 1 snap.pickle
