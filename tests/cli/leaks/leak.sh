"$MEMTOOL" leaks "$TESTDATA/good/leak.pickle.gz"
