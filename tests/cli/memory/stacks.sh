cp "$TESTDATA/good/graphs.pickle" snap.pickle
"$MEMTOOL" memory --stack full -n 2 snap.pickle
"$MEMTOOL" memory --stack 2 --all-frames -n 1 snap.pickle
