# What is not nvidia-smi's, a file that is not there, one figure for two cards; a filter leaves the
# account out.
echo hello >smi.txt
cp "$TESTDATA"/good/two_devices.pickle two.pickle
"$MEMTOOL" stats --nvidia-smi smi.txt "$TESTDATA/good/graphs.pickle"
echo "exit $?"
"$MEMTOOL" stats --nvidia-smi none.txt "$TESTDATA/good/graphs.pickle"
echo "exit $?"
"$MEMTOOL" stats --device-used 1GiB two.pickle
echo "exit $?"
"$MEMTOOL" stats --device 1 --device-used 1GiB two.pickle | grep -c 'Who holds'
"$MEMTOOL" stats --stream 0 --device-used 1GiB "$TESTDATA/good/graphs.pickle" | grep -c 'Who holds'
true
