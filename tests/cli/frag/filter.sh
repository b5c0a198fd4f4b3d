"$MEMTOOL" frag --pool private "$TESTDATA/good/graphs.pickle"
