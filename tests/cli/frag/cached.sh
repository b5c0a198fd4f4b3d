"$MEMTOOL" frag "$TESTDATA/good/transformer.pickle.gz" | sed -n "1,8p; \$p"
