# SPDX-License-Identifier: MIT
# Several snapshots of one process are one story, in the order of the numbers in their names;
# --series says so of other names, and of printed figures.
cp "$TESTDATA"/series/*.json .
"$MEMTOOL" leaks it*.json
"$MEMTOOL" leaks --json it*.json | grep -e verdict -e bytes_per_step -e '"file"' -e since
"$MEMTOOL" leaks --frame nothing_here it*.json | head -n 1
"$MEMTOOL" ranks it*.json 2>/dev/null | grep -c '100  '
for i in 1 2 3 4; do cp it0.json copy_$i.json; done
"$MEMTOOL" leaks --series copy_*.json | head -n 1
for i in 1 2 3 4; do echo "{'allocated_bytes.all.current': ${i}0000000, 'reserved_bytes.all.current': 90000000}" > step_$i.txt; done
"$MEMTOOL" leaks step_*.txt
