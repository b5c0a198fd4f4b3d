# SPDX-License-Identifier: MIT
# A snapshot is judged by a release that can have written it; one beyond the newest known is named.
for file in frag_oom.pickle newest_keys.pickle no_traces.pickle; do
    "$MEMTOOL" info -q "$TESTDATA/good/$file" | grep written
    "$MEMTOOL" conf "$TESTDATA/good/$file" | grep PyTorch
done
"$MEMTOOL" conf --torch 2.6 "$TESTDATA/good/frag_oom.pickle" | grep PyTorch
"$MEMTOOL" conf --torch 2.14 max_split_size_mb:128 | head -n 2
"$MEMTOOL" conf -q --torch 2.14 max_split_size_mb:128 | head -n 1
"$MEMTOOL" simulate --torch 2.14 --conf max_split_size_mb:128 "$TESTDATA/good/graphs.pickle" | grep -c fits
