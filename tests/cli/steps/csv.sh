"$MEMTOOL" steps --csv -n 2 "$TESTDATA/good/transformer.pickle.gz"
"$MEMTOOL" steps --csv --phases -n 1 "$TESTDATA/good/transformer.pickle.gz"
