# what was not counted is said where it fits
"$MEMTOOL" estimate --params 7B --zero 3 --ranks 8 --batch 4 --seq 4096 --card a100-80
"$MEMTOOL" estimate --params 7B --inference --card t4 | tail -n 3
# of what is missing, and of nothing else
for given in "--batch 4 --seq 4096" "--batch 4" "--layers 32 --hidden 4096" "--layers 32 --hidden 4096 --batch 4" \
    "--inference --batch 4 --seq 4096" "--inference --layers 32 --hidden 4096 --heads 32 --seq 4096"; do
    "$MEMTOOL" estimate --params 7B $given | grep -A 1 'not counted'
done
