# A table that ends in the middle: the rows that are there count.
"$MEMTOOL" summary "$TESTDATA/good/graphs.pickle" | head -12 >train.log
"$MEMTOOL" summary train.log
