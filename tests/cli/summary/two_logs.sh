"$MEMTOOL" summary "$TESTDATA/good/graphs.pickle" >a.log
"$MEMTOOL" summary "$TESTDATA/good/streams.pickle" >b.log
"$MEMTOOL" summary "$TESTDATA/good/graphs.pickle" >>b.log
"$MEMTOOL" summary a.log b.log
