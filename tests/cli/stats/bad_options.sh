f=$TESTDATA/good/graphs.pickle
"$MEMTOOL" stats --size 5:1 "$f" || echo "exit $?"
"$MEMTOOL" stats --pool huge "$f" || echo "exit $?"
"$MEMTOOL" stats --stram 1 "$f" || echo "exit $?"
"$MEMTOOL" stats || echo "exit $?"
