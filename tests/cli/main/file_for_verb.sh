cp "$TESTDATA/good/frag_oom.pickle" snap.pickle
echo died >train.log
"$MEMTOOL" train.log
"$MEMTOOL" snap.pickle
"$MEMTOOL" missing.pickle
