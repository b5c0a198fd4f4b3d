"$MEMTOOL" leaks --threshold much "$TESTDATA/good/leak.pickle.gz"
