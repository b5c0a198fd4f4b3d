# What a filter hides is said; the peak is that of what is left.
"$MEMTOOL" peak --size 1MiB: -n 3 "$TESTDATA/good/transformer.pickle.gz"
