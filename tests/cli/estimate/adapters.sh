# LoRA over weights of 16, 8 and 4 bits: only the adapters have gradients and states.
shape="--layers 32 --hidden 4096 --heads 32 --kv-heads 8 --intermediate 14336 --vocab 128256"
for base in bf16 int8 nf4 "nf4 --double-quant"; do
    echo "== $base"
    "$MEMTOOL" estimate $shape --dtype $base --lora 16 --batch 1 --seq 2048 | grep -E '^(weights|grad|opti|acti|model)'
done
echo "== attention alone"
"$MEMTOOL" estimate $shape --lora 16 --lora-targets attention | grep -E '^(weights|grad|opti)'
"$MEMTOOL" estimate --params 7B --lora 16
echo "exit $?"
