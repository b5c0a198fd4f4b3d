#!/bin/sh
# SPDX-License-Identifier: MIT
# What no figure explains is not said to be in use where the message leaves out what was free.
echo 'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 11.17 GiB total' \
    'capacity; 10.03 GiB already allocated)' >train.log
"$MEMTOOL" triage train.log | head -6
