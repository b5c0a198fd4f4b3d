# Equal segments are one row of the map with their number; pending memory is not called free.
cp "$TESTDATA/good/frag_oom.pickle" "$TESTDATA/good/streams.pickle" .
gzip -dc "$TESTDATA/good/leak.pickle.gz" >leak.pickle
"$MEMTOOL" stats frag_oom.pickle | sed -n '/Map of/,$p'
"$MEMTOOL" stats streams.pickle | sed -n '/Map of/,$p'
"$MEMTOOL" stats leak.pickle | sed -n '/Map of/,$p'
# The limit counts rows, what is left out counts segments.
"$MEMTOOL" stats -n 3 leak.pickle | sed -n '/Map of/,$p'
"$MEMTOOL" stats -n 1 leak.pickle | sed -n '/Map of/,$p'
