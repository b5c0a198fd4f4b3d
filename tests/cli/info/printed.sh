# SPDX-License-Identifier: MIT
# memory_stats() and other figures that a program printed: what they hold, and what can be asked.
cd "$TESTDATA/stats" || exit
"$MEMTOOL" info memory_stats.json printed.txt two_ranks.log
"$MEMTOOL" info --json two_ranks.log
"$MEMTOOL" memory_stats.json | head -n 8
