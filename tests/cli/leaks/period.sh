"$MEMTOOL" leaks --period Optimizer.zero_grad#AdamW.zero_grad "$TESTDATA/good/leak.pickle.gz" | head -2
"$MEMTOOL" leaks --period 900 "$TESTDATA/good/leak.pickle.gz" | head -2
