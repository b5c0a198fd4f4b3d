"$MEMTOOL" steps "$TESTDATA/bad/truncated.pickle" 2>err
code=$?
sed "s|: .*/bad|: bad|" err >&2
exit $code
