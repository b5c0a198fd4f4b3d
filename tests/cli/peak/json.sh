"$MEMTOOL" peak --json -n 2 "$TESTDATA/good/graphs.pickle" | sed "s/\"memtool\":.*/\"memtool\": \"VERSION\",/; s/\"file\":.*graphs/\"file\": \"graphs/"
