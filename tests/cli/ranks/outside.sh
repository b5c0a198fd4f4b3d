# At an OOM, with the size of the card: what is not the process's own.
cp "$TESTDATA/good/true_oom.pickle" rank0.pickle
cp "$TESTDATA/good/nonpytorch_oom.pickle" rank1.pickle
cp "$TESTDATA/good/true_oom.pickle" rank2.pickle
"$MEMTOOL" ranks --capacity 150754820096 rank0.pickle rank1.pickle rank2.pickle
