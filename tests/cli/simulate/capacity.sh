# SPDX-License-Identifier: MIT
# A smaller card than the one it ran on; the recording itself stays exact.
"$MEMTOOL" simulate --capacity 300MiB --conf max_split_size_mb:64 "$TESTDATA/good/transformer.pickle.gz"
