"$MEMTOOL" frag "$TESTDATA/good/graphs.pickle"
