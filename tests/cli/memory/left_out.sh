cp "$TESTDATA/good/graphs.pickle" snap.pickle
"$MEMTOOL" memory --size 20MiB: snap.pickle
"$MEMTOOL" memory --not-frame graphs snap.pickle
"$MEMTOOL" memory --pool nosuch snap.pickle || echo "exit $?"
"$MEMTOOL" memory --device 7 snap.pickle
