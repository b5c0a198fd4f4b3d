# At an OOM, with the size of the card: what is not the process's own.
cp "$TESTDATA/good/true_oom.pickle" rank0.pickle
cp "$TESTDATA/good/nonpytorch_oom.pickle" rank1.pickle
cp "$TESTDATA/good/true_oom.pickle" rank2.pickle
"$MEMTOOL" ranks --capacity 150754820096 rank0.pickle rank1.pickle rank2.pickle
# The same from what nvidia-smi printed, where all cards are alike.
printf 'index, memory.used [MiB], memory.total [MiB]\n0, 70000 MiB, 143771 MiB\n1, 70000 MiB, 143771 MiB\n' >smi.csv
"$MEMTOOL" ranks --nvidia-smi smi.csv --csv rank0.pickle rank1.pickle rank2.pickle
sed '2s/143771/81559/' smi.csv >mixed.csv
"$MEMTOOL" ranks --nvidia-smi mixed.csv --csv rank0.pickle rank1.pickle | head -n 1
