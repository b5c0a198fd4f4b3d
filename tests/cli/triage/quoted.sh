# What is quoted of a message ends at a word and never within a number; what is whole has no dots.
echo 'torch.OutOfMemoryError: Allocation on device ' | "$MEMTOOL" triage - | sed -n 2p
printf '%s%s\n' 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a ' \
    'total capacity of 79.25 GiB of which 1.25 GiB is free.' | "$MEMTOOL" triage - | sed -n 2p
