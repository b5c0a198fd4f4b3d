"$MEMTOOL" frag --json -n 1 "$TESTDATA/good/graphs.pickle" | sed "s/\"memtool\":.*/\"memtool\": \"VERSION\",/; s/\"file\":.*graphs/\"file\": \"graphs/"
