cp "$TESTDATA/good/graphs.pickle" snap.pickle
"$MEMTOOL" segments snap.pickle
"$MEMTOOL" segments --sort free -n 2 snap.pickle
"$MEMTOOL" segments --sort addr -r -n 2 --csv snap.pickle
