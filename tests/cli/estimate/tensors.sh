# -v lists the tensors, those of equal layers in one row: shared experts, latent keys, a table of scales.
cat >config.json <<'EOF'
{"model_type": "deepseek_v3", "hidden_size": 512, "intermediate_size": 1024, "moe_intermediate_size": 256,
 "num_hidden_layers": 4, "first_k_dense_replace": 1, "n_routed_experts": 8, "n_shared_experts": 1,
 "num_experts_per_tok": 2, "num_attention_heads": 4, "q_lora_rank": 128, "kv_lora_rank": 64, "qk_nope_head_dim": 32,
 "qk_rope_head_dim": 16, "v_head_dim": 32, "vocab_size": 1000, "num_nextn_predict_layers": 1, "torch_dtype": "bfloat16",
 "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
EOF
"$MEMTOOL" estimate -v --config config.json --inference --batch 2 --seq 1000
