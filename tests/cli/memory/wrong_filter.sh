# Filters on events mean nothing for the state at the dump: say so, do not ignore them.
f=$TESTDATA/good/graphs.pickle
"$MEMTOOL" memory --events 3: "$f" || echo "exit $?"
"$MEMTOOL" segments --time 1s: "$f" || echo "exit $?"
"$MEMTOOL" compare --annotation step "$f" "$f" || echo "exit $?"
"$MEMTOOL" stats --live "$f" || echo "exit $?"
