"$MEMTOOL" frag --at peak "$TESTDATA/good/transformer.pickle.gz"
