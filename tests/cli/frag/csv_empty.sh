# Without segments the titles are there all the same; two devices are one table.
"$MEMTOOL" frag --csv "$TESTDATA/good/empty.pickle"
"$MEMTOOL" frag --csv -n 1 "$TESTDATA/good/two_devices.pickle"
