# SPDX-License-Identifier: MIT
"$MEMTOOL" simulate --conf max_split_size_mb:5 "$TESTDATA/good/graphs.pickle"
