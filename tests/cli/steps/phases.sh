"$MEMTOOL" steps -n 2 --phases "$TESTDATA/good/leak.pickle.gz"
