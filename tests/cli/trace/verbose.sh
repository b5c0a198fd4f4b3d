# -v: both events of a free.
cp "$TESTDATA/good/graphs.pickle" snap.pickle
"$MEMTOOL" trace -v -q snap.pickle
