cp "$TESTDATA/good/frag_oom.pickle" a.pickle
"$MEMTOOL" segments --at peak -n 2 a.pickle
"$MEMTOOL" segments --at peak --format folded a.pickle | head -n 1 | cut -c 1-20
