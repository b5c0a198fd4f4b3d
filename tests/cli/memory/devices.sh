cp "$TESTDATA/good/two_devices.pickle" "$TESTDATA/good/newest_keys.pickle" .
"$MEMTOOL" memory two_devices.pickle
"$MEMTOOL" memory --csv --device 1 two_devices.pickle
"$MEMTOOL" memory -n 1 newest_keys.pickle
