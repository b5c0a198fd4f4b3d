# SPDX-License-Identifier: MIT
# What memory_stats() said at the end is held against budgets; what it does not tell is open.
cd "$TESTDATA/stats" || exit
"$MEMTOOL" check -v --max-peak 200MiB --max-reserved 1GiB --max-frag 10% --no-oom --no-leaks --min-hits 90% memory_stats.json printed.txt
"$MEMTOOL" check --max-peak 1GiB --no-oom memory_stats.json
"$MEMTOOL" check --strict --max-peak 900GiB two_ranks.log
"$MEMTOOL" check --base memory_stats.json --max-growth 1% printed.txt
"$MEMTOOL" check --json --no-oom --max-frag 5% part.json
"$MEMTOOL" check --history runs.ndjson two_ranks.log
"$MEMTOOL" check --no-oom --frame x part.json
