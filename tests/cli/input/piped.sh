# who pipes is told of -, who names a folder of its files
echo died | "$MEMTOOL" triage
echo died | "$MEMTOOL" peak
echo died | "$MEMTOOL" compare "$TESTDATA/good/mlp.pickle.gz"
mkdir snaps
"$MEMTOOL" info snaps
