# SPDX-License-Identifier: MIT
"$MEMTOOL" conf --torch 2.11 max_split_size:128
