# a number of parameters, quantized: what groups share is shared
for dtype in bf16 fp8 int8 int4 nf4; do
    "$MEMTOOL" estimate --params 7B --inference --dtype $dtype | grep '^model states'
done
# and what it does not tell
for option in "--tp 8" "--pp 4" "--ep 2" "--lora 16" "--optimizer adafactor" "--optimizer muon"; do
    # shellcheck disable=SC2086
    "$MEMTOOL" estimate --params 7B $option
    echo "exit $?"
done
"$MEMTOOL" estimate --params 70B --inference --card h100 | tail -8
for option in --card --limit; do "$MEMTOOL" estimate --params 7B $option h100 | grep '^does not\|^fits'; done
