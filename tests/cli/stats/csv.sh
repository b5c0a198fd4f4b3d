"$MEMTOOL" stats --csv "$TESTDATA/good/two_devices.pickle"
