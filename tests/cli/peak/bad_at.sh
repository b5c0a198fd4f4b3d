"$MEMTOOL" peak --at peek "$TESTDATA/good/graphs.pickle"
