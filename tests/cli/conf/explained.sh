# SPDX-License-Identifier: MIT
"$MEMTOOL" conf expandable_segments:True,garbage_collection_threshold:0.6,max_split_size_mb:512
