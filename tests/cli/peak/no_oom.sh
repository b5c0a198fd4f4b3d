"$MEMTOOL" peak --at oom "$TESTDATA/good/graphs.pickle" 2>err
code=$?
sed "s|: .*/good|: good|" err >&2
exit $code
