"$MEMTOOL" peak --stack full -n 2 "$TESTDATA/good/transformer.pickle.gz"
