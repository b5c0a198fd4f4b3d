# SPDX-License-Identifier: MIT
# Printed figures of every kind in one log; two ranks that print into one file are kept apart.
cp "$TESTDATA"/stats/* .
"$MEMTOOL" summary printed.txt
"$MEMTOOL" summary two_ranks.log | head -n 6
"$MEMTOOL" summary --json two_ranks.log | grep -e rank -e kind | head -n 4
for rank in 0 1; do "$MEMTOOL" summary "$TESTDATA/good/graphs.pickle" | sed "s/^/[rank$rank]: /" > $rank.log; done
paste -d '\n' 0.log 1.log > both.log
"$MEMTOOL" summary both.log
"$MEMTOOL" summary memory_stats.json part.json
