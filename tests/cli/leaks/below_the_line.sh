"$MEMTOOL" leaks "$TESTDATA/good/streams.pickle"
"$MEMTOOL" leaks --threshold 10KiB "$TESTDATA/good/streams.pickle" | head -1
