# What is left of a card for the cache, pages, windows, and the flags that say so.
cat >config.json <<'EOF'
{"model_type": "gpt_oss", "num_hidden_layers": 24, "num_local_experts": 32, "torch_dtype": "bfloat16",
 "max_position_embeddings": 131072, "quantization_config": {"quant_method": "mxfp4"}}
EOF
"$MEMTOOL" estimate --config config.json --inference --batch 8 --seq 32768 --card l40s
echo == pages
for how in "" "--engine vllm" "--page-size 64" "--kv-dtype fp8" "--tp 2" "--tp 16"; do
    "$MEMTOOL" estimate --config config.json --inference --batch 1 --seq 1001 $how | grep '^kv_cache'
done
echo == states
echo '{"model_type": "mamba2"}' >mamba.json
"$MEMTOOL" estimate --config mamba.json --inference --batch 4 --seq 1000 | grep -E '^(kv_cache|state)'
echo "== the largest batch and the sequences that fit are one number"
"$MEMTOOL" estimate --layers 32 --hidden 4096 --heads 32 --kv-heads 8 --vocab 128256 --inference --card h100 --batch 4 \
    --seq 8192 | grep -o -e 'batch *[0-9]* surely' -e '[0-9]* sequences\? of' -e 'not one fits' -e 'num-seqs [0-9]*'
