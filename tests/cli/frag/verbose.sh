"$MEMTOOL" frag -v --at peak "$TESTDATA/good/transformer.pickle.gz" 2>/dev/null | sed -n "/Where/,\$p"
