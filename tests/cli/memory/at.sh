cp "$TESTDATA/good/two_devices.pickle" a.pickle
"$MEMTOOL" memory --at peak -n 3 a.pickle
"$MEMTOOL" memory --at 5 --device 1 -n 3 a.pickle
