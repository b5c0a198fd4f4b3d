# The question turned round: what fits on a card, and what to change first.
"$MEMTOOL" estimate --card h100
"$MEMTOOL" estimate --card 24GiB --json
"$MEMTOOL" estimate --layers 32 --hidden 4096 --heads 32 --vocab 32000 --batch 4 --seq 4096 --card h100 |
    sed -n '/^does/,$p'
"$MEMTOOL" estimate --layers 16 --hidden 2048 --heads 32 --vocab 32000 --batch 1 --seq 1024 | tail -n 1
