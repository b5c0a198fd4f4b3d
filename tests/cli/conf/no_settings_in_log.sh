# SPDX-License-Identifier: MIT
echo "try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation" >job.log
"$MEMTOOL" conf job.log
