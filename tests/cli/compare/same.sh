# The same snapshot in two formats, and of list and dict: nothing differs.
cp "$TESTDATA/good/graphs.pickle" a.pickle
cp "$TESTDATA/good/plain.json.gz" b.json.gz
cp "$TESTDATA/good/list_only.pickle" c.pickle
"$MEMTOOL" compare --exit-code a.pickle b.json.gz
"$MEMTOOL" compare --exit-code --segments a.pickle c.pickle
