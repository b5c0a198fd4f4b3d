#!/bin/sh
# SPDX-License-Identifier: MIT
# The name of the variable may be pasted with its value, here and in simulate --conf.
"$MEMTOOL" conf --torch 2.11 PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128 | head -3
"$MEMTOOL" conf --torch 2.11 'export PYTORCH_ALLOC_CONF="max_split_size_mb:128"' | head -2
"$MEMTOOL" conf 'MEMTOOL_ALLOC_CONF=max_split_size_mb:128' | head -2
"$MEMTOOL" simulate --conf max_split_size_mb:128 "$TESTDATA/good/frag_oom.pickle" >bare
"$MEMTOOL" simulate --conf PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128 \
    "$TESTDATA/good/frag_oom.pickle" | cmp - bare && echo same
