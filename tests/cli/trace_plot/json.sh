cd "$TESTDATA/good" && "$MEMTOOL" trace_plot --json -s graphs.pickle | tr -d "\t" | head -60
