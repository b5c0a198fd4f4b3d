# Parameters counted from a config.json; options go before it.
cat >config.json <<'EOF'
{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
 "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": false,
 "torch_dtype": "bfloat16"}
EOF
"$MEMTOOL" estimate --config config.json --inference --batch 1 --seq 8192 --json
"$MEMTOOL" estimate --config config.json --dtype fp32 | head -n 4
echo '{"text_config": {"n_embd": 8, "n_layer": 1, "n_head": 1, "vocab_size": 10}}' >parts.json
"$MEMTOOL" estimate --config parts.json | head -n 1
