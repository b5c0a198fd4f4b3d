# SPDX-License-Identifier: MIT
# A file cut in its trace, whose segments are of the dump: what its events say is what the same
# events of the whole file say; the segments alone are those of the dump.
whole=$TESTDATA/good/frag_oom.pickle
head -c 30000 "$whole" > cut.pickle
"$MEMTOOL" peak -q --salvage cut.pickle; echo "exit $?"
"$MEMTOOL" peak --events 0:135 "$whole"
for verb in "frag --at 50" "peak --json --at 30"; do
    "$MEMTOOL" $verb -q --salvage cut.pickle | grep -v -e '"file"' -e '"lost"' -e '^note' -e '"events"' -e 'after event' -e 'recording needs' > a
    "$MEMTOOL" $verb "$whole" | grep -v -e '"file"' -e '"events"' -e 'after event' -e 'recording needs' > b
    cmp a b && echo "$verb: the same"
done
"$MEMTOOL" stats -q --salvage cut.pickle | sed -n '2,8p'
"$MEMTOOL" simulate -q --salvage cut.pickle | sed -n '1,3p'
"$MEMTOOL" info -q --salvage cut.pickle | tail -n 1
"$MEMTOOL" segments -q --salvage -n 1 cut.pickle | tail -n 1
"$MEMTOOL" segments -n 1 "$whole" | tail -n 1
