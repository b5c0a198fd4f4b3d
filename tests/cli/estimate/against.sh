# Expected beside found; the snapshot's fragmentation is taken over.
cp "$TESTDATA/good/transformer.pickle.gz" snap.pickle.gz
"$MEMTOOL" estimate --params 7.26M --dtype fp32 --against snap.pickle.gz
"$MEMTOOL" estimate --params 7.26M --dtype fp32 --against snap.pickle.gz --fragmentation 0 --json | sed -n '/against/,$p'
