# SPDX-License-Identifier: MIT
# memory_stats() in other spellings: dictionaries of devices and of ranks, numbers in their types and
# in quotes, keys without quotes as a loop prints them.
two() { printf "{%s'allocated_bytes.all.current': %s, 'reserved_bytes.all.current': %s}" "$1" "$2" "$3"; }
echo "{'cuda:0': $(two '' 1048576 2097152), 'cuda:1': $(two '' 3145728 4194304)}" > devices.log
echo "{0: $(two '' 1048576 2097152), 1: $(two '' 3145728 4194304)}" > numbers.log
echo "{\"rank0\": $(two '' 1048576 2097152), \"rank1\": $(two '' 3145728 4194304)}" | tr "'" '"' > ranks.json
echo "cuda:1 $(two '' 1048576 2097152)" > named.log
echo "$(two '' 'np.int64(1048576)' "'2097152'")" > types.log
printf '%s\n' 'step 10' 'allocated_bytes.all.current: 1,048,576' 'reserved_bytes.all.current = 2097152' 'num_ooms | 3' > loop.log
printf '%s\n' 'allocated_bytes.all.current: 1.5 GiB' 'reserved_bytes.all.current: 2.5 GiB' > units.log
for f in devices.log numbers.log ranks.json named.log types.log loop.log; do
    echo "== $f"
    "$MEMTOOL" summary $f | grep -E '^ *[0-9]+ |RANK'
done
"$MEMTOOL" summary units.log 2>&1 | head -n 1
# A table whose lines a logger wrote out in one.
"$MEMTOOL" summary "$TESTDATA/good/graphs.pickle" > table.txt
{ printf '{"msg": "'; sed -z 's/\n/\\n/g' table.txt; printf '"}\n'; } > one_line.json
"$MEMTOOL" summary one_line.json | grep -E '^ *[0-9]+ '
"$MEMTOOL" stats one_line.json | sed -n '4,6p'
