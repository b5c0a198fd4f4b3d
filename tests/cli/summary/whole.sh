"$MEMTOOL" summary "$TESTDATA/good/leak.pickle.gz"
