# SPDX-License-Identifier: MIT
"$MEMTOOL" conf expandable_segments:True,garbage_collection_threshold:0.6,max_split_size_mb:512
# what is off is told as it would be when on; cudaMallocAsync is not simulated
"$MEMTOOL" conf expandable_segments:False | grep -A 1 '  expandable'
"$MEMTOOL" conf backend:cudaMallocAsync | grep 'memtool simulate' || echo 'not simulated'
