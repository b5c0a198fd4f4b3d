"$MEMTOOL" leaks --pending --temporary --within 20 -n 3 "$TESTDATA/good/streams.pickle" | sed -n "/Short/,\$p"
