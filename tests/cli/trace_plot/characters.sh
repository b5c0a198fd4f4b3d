# Without -o: the picture in characters, plain when piped.
"$MEMTOOL" trace_plot "$TESTDATA/good/true_oom.pickle"
