cp "$TESTDATA/good/true_oom.pickle" snap.pickle
"$MEMTOOL" memory --json -n 1 snap.pickle
