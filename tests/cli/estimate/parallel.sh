# What each kind of parallelism divides: tensors, stages, experts, the sequence; and what ZeRO 3 gathers.
cat >config.json <<'EOF'
{"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
 "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "torch_dtype": "bfloat16"}
EOF
terms() {
    echo "== $*"
    "$MEMTOOL" estimate --config config.json --batch 1 --seq 4096 "$@" |
        grep -E '^(weights|optimizer|gathered|activations|logits|TOTAL|model states)'
}
terms
terms --tp 4
terms --tp 4 --sp
terms --pp 4
terms --pp 4 --micro-batches 2
terms --ep 4
terms --cp 4
terms --zero 3 --ranks 8
terms --zero 1 --ranks 8 --ep 4
terms --zero 3 --ranks 8 --offload all
terms --recompute full --fused-loss
terms --eager
terms --eager --recompute selective
