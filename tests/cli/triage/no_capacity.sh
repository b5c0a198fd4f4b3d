#!/bin/sh
# SPDX-License-Identifier: MIT
# A card of 0 GiB is no card: nothing was moved to host memory.
printf '%s%s\n' 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total ' \
    'capacity of 0 GiB of which 0 bytes is free. Of the allocated memory 20.11 GiB is allocated by PyTorch.' |
    "$MEMTOOL" triage - | sed -n '/^VERDICT/,/^FIRST/p'
