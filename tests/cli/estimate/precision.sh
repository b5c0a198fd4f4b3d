# SPDX-License-Identifier: MIT
# What each option of precision, optimizer and overhead changes, for a billion weights.
total() {
    echo "== $*"
    "$MEMTOOL" estimate --params 1B "$@" | grep -E '^(gradients|optimizer|KV cache|kv cache|TOTAL)'
}
total
total --dtype fp32
total --no-master
total --grad-dtype fp32
total --optimizer adam8bit
total --optimizer momentum
total --optimizer sgd
total --context 0 --workspace 0
total --inference --layers 10 --hidden 1000 --heads 10 --batch 1 --seq 1000
total --inference --layers 10 --hidden 1000 --heads 10 --batch 1 --seq 1000 --kv-dtype fp8
