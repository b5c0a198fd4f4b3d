"$MEMTOOL" peak "$TESTDATA/good/empty.pickle"
