"$MEMTOOL" frag "$TESTDATA/good/empty_cache_each_step.pickle.gz" | sed -n "/^Where/,\$p"
