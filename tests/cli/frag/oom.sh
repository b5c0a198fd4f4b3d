"$MEMTOOL" frag --at oom "$TESTDATA/good/frag_oom.pickle"
