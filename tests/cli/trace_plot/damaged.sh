"$MEMTOOL" trace_plot "$TESTDATA/bad/truncated.pickle" -o a.svg 2>err
echo "exit $?"
"$MEMTOOL" trace_plot --salvage "$TESTDATA/bad/truncated.pickle" -o a.svg 2>>err
echo "exit $?"
ls
sed "s|: .*/bad|: bad|" err >&2
