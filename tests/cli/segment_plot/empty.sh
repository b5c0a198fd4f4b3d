"$MEMTOOL" segment_plot "$TESTDATA/good/empty.pickle"
"$MEMTOOL" segment_plot "$TESTDATA/good/empty.pickle" -o a.svg && grep -c "nothing was reserved" a.svg
