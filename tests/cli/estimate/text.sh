"$MEMTOOL" estimate --params 7B --card h100
"$MEMTOOL" estimate --params 7B --zero 3 --ranks 8 --layers 32 --hidden 4096 --heads 32 --vocab 32000 --batch 4 --seq 2048 --checkpointing full
"$MEMTOOL" estimate --inference --params 8B --layers 32 --kv-heads 8 --head-dim 128 --batch 16 --seq 4096 --card 24GiB
"$MEMTOOL" estimate --table
