# SPDX-License-Identifier: MIT
"$MEMTOOL" conf --cuda 11.2 backend:cudaMallocAsync,max_split_size_mb:64
