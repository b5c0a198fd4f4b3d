cp "$TESTDATA/good/graphs.pickle" a.pickle
cp "$TESTDATA/good/streams.pickle" b.pickle
"$MEMTOOL" compare --json --at end -n 2 a.pickle b.pickle
