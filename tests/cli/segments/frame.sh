cp "$TESTDATA/good/graphs.pickle" snap.pickle
"$MEMTOOL" segments --frame 'linear' snap.pickle
"$MEMTOOL" segments --frame nowhere snap.pickle
