cp "$TESTDATA/good/graphs.pickle" snap.pickle
"$MEMTOOL" trace --json -n 6 snap.pickle
"$MEMTOOL" trace --json -n 1 -v -q snap.pickle | tail -n 1
"$MEMTOOL" trace --json "$TESTDATA/good/true_oom.pickle" | grep '"oom"'
