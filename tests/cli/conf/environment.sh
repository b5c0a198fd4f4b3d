# SPDX-License-Identifier: MIT
# Which variable wins depends on the release.
export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64 PYTORCH_ALLOC_CONF=expandable_segments:True
"$MEMTOOL" conf --torch 2.10 | head -3
"$MEMTOOL" conf --torch 2.12 | head -3
"$MEMTOOL" conf --torch 2.8 | grep note
unset PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF
PYTORCH_NO_CUDA_MEMORY_CACHING=0 "$MEMTOOL" conf
