cp "$TESTDATA/good/two_devices.pickle" snap.pickle
"$MEMTOOL" trace --csv -n 4 snap.pickle
"$MEMTOOL" trace --tsv -n 1 --device 1 snap.pickle
