"$MEMTOOL" trace_plot --ascii --x time -n 3 "$TESTDATA/good/transformer.pickle.gz"
