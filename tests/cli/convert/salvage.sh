# Of a damaged file what was whole: exit 4, and the output opens.
cp "$TESTDATA/bad/truncated.pickle" .
"$MEMTOOL" convert --salvage truncated.pickle -o out.pickle
code=$?
"$MEMTOOL" stats --json out.pickle | grep -m 1 '"events"'
exit $code
