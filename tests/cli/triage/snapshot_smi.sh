# PyTorch's own snapshot with the card's figures: what lies outside the allocator is no figure of it.
cp "$TESTDATA/good/true_oom.pickle" oom.pickle
cat >smi.csv <<'END'
index, memory.used [MiB], memory.total [MiB]
0, 142438 MiB, 143771 MiB
END
"$MEMTOOL" triage --nvidia-smi smi.csv oom.pickle
