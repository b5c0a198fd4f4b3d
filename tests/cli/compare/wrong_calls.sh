"$MEMTOOL" compare "$TESTDATA/good/graphs.pickle" || echo "exit $?"
"$MEMTOOL" compare - - || echo "exit $?"
"$MEMTOOL" compare "$TESTDATA/good/graphs.pickle" missing.pickle || echo "exit $?"
