"$MEMTOOL" compare --exit-code "$TESTDATA/good/graphs.pickle" "$TESTDATA/good/streams.pickle" >/dev/null
