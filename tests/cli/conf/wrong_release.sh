# SPDX-License-Identifier: MIT
"$MEMTOOL" conf --torch latest max_split_size_mb:64
