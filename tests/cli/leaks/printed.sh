# SPDX-License-Identifier: MIT
# Figures that a program printed, several in one log: each process has its own story.
cd "$TESTDATA/stats" || exit
"$MEMTOOL" leaks printed.txt
"$MEMTOOL" leaks two_ranks.log
"$MEMTOOL" leaks memory_stats.json
"$MEMTOOL" leaks --json two_ranks.log | head -n 20
"$MEMTOOL" leaks --threshold 100000 two_ranks.log | head -n 1
"$MEMTOOL" leaks --csv printed.txt
"$MEMTOOL" leaks --frame x printed.txt
