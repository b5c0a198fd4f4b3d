# The size of the files beside the config decides, and what the count does not have is named.
cat >config.json <<'EOF'
{"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2,
 "vocab_size": 100, "tie_word_embeddings": true, "torch_dtype": "float16"}
EOF
two() { "$MEMTOOL" estimate --config config.json --inference | grep -E -A 2 '^(weights|The files)'; }
two
cat >model.safetensors.index.json <<'EOF'
{"metadata": {"total_size": 200000}, "weight_map": {"model.layers.0.self_attn.rotary_emb.inv_freq": "a",
 "model.layers.2.mlp.up_proj.weight": "a", "lm_head.weight": "a"}}
EOF
two
echo '{}' >model.safetensors.index.json
"$MEMTOOL" estimate --config config.json
echo "exit $?"
rm model.safetensors.index.json
{ printf '\020\0\0\0\0\0\0\0{              }'; head -c 164000 /dev/zero; } >model.safetensors
two
