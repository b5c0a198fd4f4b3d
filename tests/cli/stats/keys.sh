# -v: PyTorch's own key beside each figure; pending memory; a hostile stream or name does no harm.
cp "$TESTDATA/good/streams.pickle" snap.pickle
"$MEMTOOL" stats -v -q --exact snap.pickle
