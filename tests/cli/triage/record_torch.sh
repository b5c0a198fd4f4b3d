# A PyTorch program that was watched: NCCL beside the allocator is named, and how it takes less.
cp "$TESTDATA/good/record_train.pickle" train.pickle
"$MEMTOOL" triage train.pickle
