cat >train.log <<'LOG'
[Rank 0] (after 10 iterations) memory (MB) | allocated: 14000.5 | max allocated: 20000.0 | reserved: 21000.0 | max reserved: 21000.0
iteration 20 loss 3.1
[Rank 0] (after 20 iterations) memory (MB) | allocated: 14100.5 | max allocated: 20100.0 | reserved: 21000.0 | max reserved: 21000.0
[INFO] [utils.py:782:see_memory_usage] MA 13.5 GB         Max_MA 13.5 GB         CA 14.0 GB         Max_CA 14 GB
LOG
"$MEMTOOL" summary train.log
