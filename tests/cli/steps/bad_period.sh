cd "$TESTDATA/good" && "$MEMTOOL" steps --period nothing leak.pickle.gz
