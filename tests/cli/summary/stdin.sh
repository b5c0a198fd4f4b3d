"$MEMTOOL" summary "$TESTDATA/good/graphs.pickle" | "$MEMTOOL" summary - | tail -1
"$MEMTOOL" summary - <"$TESTDATA/good/graphs.pickle" | head -2
