# large_segment_size_mb:64: the request takes a segment of 64 MiB, which was not free.
cd "$TESTDATA/good" && "$MEMTOOL" triage large_segment_oom.pickle
# the log alone, without and with the setting
message='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 139.80 GiB of which 40.00 MiB is free. Process 1 has 138.50 GiB memory in use. Of the allocated memory 138.00 GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.'
echo "$message" | "$MEMTOOL" triage - | grep 'PyTorch takes'
printf 'PYTORCH_CUDA_ALLOC_CONF=large_segment_size_mb:64\n%s\n' "$message" | "$MEMTOOL" triage - | grep 'PyTorch takes'
