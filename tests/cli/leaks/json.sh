"$MEMTOOL" leaks --json -n 1 "$TESTDATA/good/leak.pickle.gz" | sed "s/\"memtool\":.*/\"memtool\": \"VERSION\",/; s/\"file\":.*leak/\"file\": \"leak/" | head -30
