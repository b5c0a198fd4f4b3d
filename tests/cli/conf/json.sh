# SPDX-License-Identifier: MIT
"$MEMTOOL" conf --json --torch 2.11 max_split_size_mb:64MB | grep -v '"memtool"'
