"$MEMTOOL" peak --csv -n 4 "$TESTDATA/good/transformer.pickle.gz"
