"$MEMTOOL" trace_plot "$TESTDATA/good/no_traces.pickle" | sed -n "2p;/Alive/,\$p"
"$MEMTOOL" trace_plot "$TESTDATA/good/empty.pickle"
"$MEMTOOL" trace_plot "$TESTDATA/good/list_only.pickle" -o list.png && echo drawn
