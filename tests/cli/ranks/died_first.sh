# Both ran out of memory: who was first, and what the card leaves to each.
cp "$TESTDATA/good/true_oom.pickle" rank0.pickle
cp "$TESTDATA/good/frag_oom.pickle" rank1.pickle
"$MEMTOOL" ranks --capacity 80GiB rank0.pickle rank1.pickle
"$MEMTOOL" ranks --json rank0.pickle rank1.pickle | grep -E 'first_oom|headroom'
"$MEMTOOL" ranks --csv --capacity 80GiB rank0.pickle rank1.pickle
# A rise is odd beside ranks that do not rise; of short recordings it is not known whether they do.
cp "$TESTDATA/good/leak.pickle.gz" rank0.pickle.gz
cp "$TESTDATA/ranks/mem_rank1.pickle.gz" "$TESTDATA/ranks/mem_rank2.pickle.gz" .
cp "$TESTDATA/good/mlp.pickle.gz" mem_rank3.pickle.gz
"$MEMTOOL" ranks rank0.pickle.gz mem_rank?.pickle.gz | grep -A 1 'rises by'
