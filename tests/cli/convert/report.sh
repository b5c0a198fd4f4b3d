cp "$TESTDATA/good/graphs.pickle" snap.pickle
"$MEMTOOL" convert --json snap.pickle -o snap.json.gz
"$MEMTOOL" convert --json --protocol 2 --anonymize --salt x snap.pickle -o new.pickle | grep -v output_bytes
