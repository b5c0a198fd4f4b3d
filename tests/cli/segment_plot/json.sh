# What is alive at the peak is what peak counts.
"$MEMTOOL" segment_plot --json --at peak "$TESTDATA/good/transformer.pickle.gz" | grep -m 9 "moment\|_bytes" | tr -d "\\t"
"$MEMTOOL" peak --json "$TESTDATA/good/transformer.pickle.gz" | grep peak_requested | tr -d "\\t"
