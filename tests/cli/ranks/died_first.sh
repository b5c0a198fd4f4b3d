# Both ran out of memory: who was first, and what the card leaves to each.
cp "$TESTDATA/good/true_oom.pickle" rank0.pickle
cp "$TESTDATA/good/frag_oom.pickle" rank1.pickle
"$MEMTOOL" ranks --capacity 80GiB rank0.pickle rank1.pickle
"$MEMTOOL" ranks --json rank0.pickle rank1.pickle | grep -E 'first_oom|headroom'
"$MEMTOOL" ranks --csv --capacity 80GiB rank0.pickle rank1.pickle
