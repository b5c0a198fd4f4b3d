"$MEMTOOL" segment_plot --ascii --at 30 "$TESTDATA/good/expandable_transformer.pickle.gz"
