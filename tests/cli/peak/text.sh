"$MEMTOOL" peak -n 8 "$TESTDATA/good/transformer.pickle.gz"
