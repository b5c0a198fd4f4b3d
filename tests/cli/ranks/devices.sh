# One file with two devices: each is a rank. Beside other files it is one rank that holds a second device.
cp "$TESTDATA/good/two_devices.pickle" node.pickle
"$MEMTOOL" ranks node.pickle | head -n 6
cp "$TESTDATA/good/graphs.pickle" rank0.pickle
cp "$TESTDATA/good/graphs.pickle" rank1.pickle
cp node.pickle rank2.pickle
"$MEMTOOL" ranks rank0.pickle rank1.pickle rank2.pickle
