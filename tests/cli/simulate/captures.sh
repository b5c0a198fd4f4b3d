# Six CUDA graphs in one private pool: every address, and what PyTorch reserved under the other setting (1,033,895,936).
cp "$TESTDATA/simulate/graphs_shared.pickle.gz" snap.pickle.gz
"$MEMTOOL" simulate --csv --conf expandable_segments:True snap.pickle.gz
