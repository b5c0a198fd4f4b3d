"$MEMTOOL" segments --format folded "$TESTDATA/good/graphs.pickle"
"$MEMTOOL" segments --format folded "$TESTDATA/good/high_addresses.pickle" | head -n 3
