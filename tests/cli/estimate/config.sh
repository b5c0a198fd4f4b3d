# Parameters counted from a config.json; options go before it, and a part of a config that makes text.
cat >config.json <<'EOF'
{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
 "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": false,
 "torch_dtype": "bfloat16"}
EOF
"$MEMTOOL" estimate --config config.json --inference --batch 1 --seq 8192 --json
"$MEMTOOL" estimate --config config.json --dtype fp32 | head -n 4
cat >parts.json <<'EOF'
{"model_type": "gemma3", "text_config": {"hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 100},
 "vision_config": {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2, "vision_use_head": false}}
EOF
"$MEMTOOL" estimate --config parts.json --layers 1 | head -n 1
