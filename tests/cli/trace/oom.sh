cp "$TESTDATA/good/true_oom.pickle" snap.pickle
"$MEMTOOL" trace --events 40: snap.pickle
"$MEMTOOL" trace --exact --events 45: snap.pickle
