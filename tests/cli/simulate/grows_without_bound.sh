# SPDX-License-Identifier: MIT
# Two settings that are harmless alone grow together; a recording without private pools is not said to
# use them.
"$MEMTOOL" simulate --conf max_split_size_mb:21,expandable_segments:True --conf expandable_segments:True \
    --conf max_split_size_mb:21 "$TESTDATA/simulate/es_split.pickle.gz"
