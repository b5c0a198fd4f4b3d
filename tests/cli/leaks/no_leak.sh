"$MEMTOOL" leaks "$TESTDATA/good/mlp.pickle.gz"
