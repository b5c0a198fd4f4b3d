"$MEMTOOL" segment_plot "$TESTDATA/good/streams.pickle"
