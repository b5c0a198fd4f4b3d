cp "$TESTDATA/bad/truncated.pickle" .
"$MEMTOOL" info --salvage truncated.pickle
