cp "$TESTDATA/good/graphs.pickle" a.pickle
cp "$TESTDATA/good/streams.pickle" b.pickle
"$MEMTOOL" compare --segments -n 2 a.pickle b.pickle
"$MEMTOOL" compare --format folded a.pickle b.pickle | cut -d ';' -f 1-4 | sort | uniq -c
