"$MEMTOOL" frag --csv "$TESTDATA/good/graphs.pickle"
