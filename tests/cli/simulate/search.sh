# The best of all sensible settings, with the fewest keys that reach it.
cp "$TESTDATA/good/frag_oom.pickle" "$TESTDATA/simulate/graphs_shared.pickle.gz" .
"$MEMTOOL" simulate --search frag_oom.pickle
"$MEMTOOL" simulate --search --csv graphs_shared.pickle.gz
