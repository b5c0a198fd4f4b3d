"$MEMTOOL" leaks --csv "$TESTDATA/good/leak.pickle.gz"
