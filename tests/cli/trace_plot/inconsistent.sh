"$MEMTOOL" trace_plot "$TESTDATA/good/inconsistent.pickle" -o a.svg && "$MEMTOOL" segment_plot "$TESTDATA/good/inconsistent.pickle" --at start -o b.svg && ls
