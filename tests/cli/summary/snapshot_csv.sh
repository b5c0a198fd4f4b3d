# What is a drawing in text is not a table.
cp "$TESTDATA/good/streams.pickle" snap.pickle
"$MEMTOOL" summary --csv snap.pickle
