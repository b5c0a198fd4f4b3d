"$MEMTOOL" frag "$TESTDATA/good/empty.pickle"
