# what was not counted is said where it fits
"$MEMTOOL" estimate --params 7B --zero 3 --ranks 8 --batch 4 --seq 4096 --card a100-80
"$MEMTOOL" estimate --params 7B --inference --card t4 | tail -n 3
