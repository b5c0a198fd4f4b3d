"$MEMTOOL" frag -v --at peak "$TESTDATA/good/transformer.pickle.gz" | sed -n "/Where/,\$p"
