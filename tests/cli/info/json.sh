cp "$TESTDATA/good/two_devices.pickle" "$TESTDATA/good/cpp_dump.pickle.gz" .
"$MEMTOOL" info --json two_devices.pickle cpp_dump.pickle.gz
"$MEMTOOL" info --json two_devices.pickle
