"$MEMTOOL" leaks --period 0 "$TESTDATA/good/leak.pickle.gz"
