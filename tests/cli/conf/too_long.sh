# SPDX-License-Identifier: MIT
# 131,072 bytes of settings are read, as many as an environment variable of Linux may have; more is refused at once.
long() { python3 -c 'import sys; print(("a:b," * (int(sys.argv[1]) // 4 + 1))[:int(sys.argv[1])], end="")' "$1"; }
for n in 131072 131073 10000000; do
    { printf 'PYTORCH_CUDA_ALLOC_CONF=' && long $n && echo; } >log
    { printf '{"segments": [], "device_traces": [], "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "' && long $n && echo '"}}'; } >s.json
    for f in log s.json; do
        (ulimit -t 20 && "$MEMTOOL" conf -q $f 2>&1) | cut -c 1-100 | head -1
    done
    (ulimit -t 20 && "$MEMTOOL" info -q s.json) >out
    echo "info: exit $?"
done
