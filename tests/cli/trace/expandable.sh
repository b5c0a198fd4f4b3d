cp "$TESTDATA/good/expandable_transformer.pickle.gz" snap.pickle.gz
"$MEMTOOL" trace --size 2MiB: -n 12 snap.pickle.gz
