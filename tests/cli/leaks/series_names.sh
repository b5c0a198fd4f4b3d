# SPDX-License-Identifier: MIT
# What says that files are of one process: what differs counts moments, or the pid or rank is the
# same in all. Ranks, batch sizes and other runs have an answer each.
moment() { cp "$TESTDATA/series/$1.json" "$2"; }
head_of() { "$MEMTOOL" leaks "$@" 2>&1 | grep -e '^Leak' -e '^No leak' -e '^Unknown' -e '^==>'; }
for i in 0 100 200; do
    mkdir iteration_$i
    moment it$i iteration_$i/rank0_memory_snapshot.json
    moment it$i snap_pid4242_$i.json
    moment it$i mem_rank$i.json
    moment it$i batch_$i.json
    moment it$i host${i}_step7.json
done
"$MEMTOOL" leaks iteration_*/rank0_memory_snapshot.json
head_of snap_pid4242_*.json
head_of mem_rank*.json
head_of batch_*.json
head_of host*_step7.json
# the times of the files do not rise with the numbers
cp "$TESTDATA/good/leak.pickle.gz" rank0_1.pickle.gz
cp "$TESTDATA/good/leak.pickle.gz" rank0_2.pickle.gz
cp "$TESTDATA/good/leak.pickle.gz" rank0_3.pickle.gz
head_of rank0_*.pickle.gz
