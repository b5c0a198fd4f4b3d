"$MEMTOOL" frag --at nowhere "$TESTDATA/good/graphs.pickle"
