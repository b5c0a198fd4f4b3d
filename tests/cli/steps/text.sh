"$MEMTOOL" steps "$TESTDATA/good/transformer.pickle.gz"
