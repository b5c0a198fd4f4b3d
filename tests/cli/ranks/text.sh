# Rank 2 had longer sequences, rank 3 keeps memory that the others free.
"$MEMTOOL" ranks "$TESTDATA/ranks"
