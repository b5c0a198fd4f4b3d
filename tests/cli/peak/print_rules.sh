# The shipped rules are rules: printed, they can be read back.
"$MEMTOOL" peak --print-rules >rules
"$MEMTOOL" peak --rules rules -n 1 "$TESTDATA/good/streams.pickle" | tail -1
