"$MEMTOOL" summary --json "$TESTDATA/good/graphs.pickle" | sed "s/\"memtool\":.*/\"memtool\": \"VERSION\",/; s/\"file\":.*graphs/\"file\": \"graphs/" | head -40
