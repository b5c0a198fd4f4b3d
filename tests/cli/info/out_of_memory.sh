# each step is one event
"$MEMTOOL" leaks "$TESTDATA/good/frag_oom.pickle" | sed -n 2p
cd "$TESTDATA/good" && "$MEMTOOL" info frag_oom.pickle
