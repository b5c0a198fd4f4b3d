#!/bin/sh
# SPDX-License-Identifier: MIT
# Holes that would make up for what is missing: worth a try, and not denied.
cat >train.log <<END
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.88 GiB. GPU 0 has a total capacity of 23.98 GiB of which 1.70 GiB is free. Of the allocated memory 21.65 GiB is allocated by PyTorch, and 279.78 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.
END
"$MEMTOOL" triage train.log
# As much free as was asked for, by a hair.
cat >hair.log <<END
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.19 GiB. GPU 0 has a total capacity of 44.40 GiB of which 4.20 GiB is free. Including non-PyTorch memory, this process has 40.20 GiB memory in use. Of the allocated memory 39.85 GiB is allocated by PyTorch, and 40.98 MiB is reserved by PyTorch but unallocated.
END
"$MEMTOOL" triage hair.log | sed -n '/^VERDICT/,/^$/p'
echo 'RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED' >status.log
"$MEMTOOL" triage status.log | sed -n '/^VERDICT/,/^$/p'
