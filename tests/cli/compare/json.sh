cp "$TESTDATA/good/graphs.pickle" a.pickle
cp "$TESTDATA/good/streams.pickle" b.pickle
"$MEMTOOL" compare --json -n 2 a.pickle b.pickle
