# SPDX-License-Identifier: MIT
# Moments of one process: how live and reserved memory went, which stacks grew, from when on.
cp "$TESTDATA"/series/*.json .
"$MEMTOOL" summary it*.json
"$MEMTOOL" summary --json it*.json | grep -e schema -e bytes_per_step -e '"file"' -e since
"$MEMTOOL" summary --csv it*.json
for i in 1 2; do cp it0.json copy_$i.json; done
"$MEMTOOL" summary --series copy_*.json
"$MEMTOOL" summary copy_*.json | grep '==>'
for i in 3 4 5; do echo "{'allocated_bytes.all.current': ${i}0000000, 'active_bytes.all.current': 90000000}" > step_$i.json; done
"$MEMTOOL" summary step_*.json
