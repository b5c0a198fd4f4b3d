cp "$TESTDATA/good/graphs.pickle" a.pickle
cp "$TESTDATA/good/true_oom.pickle" b.pickle
"$MEMTOOL" check --json --max-peak 1GiB --max-frag 20% --no-leaks --base b.pickle --max-growth 1KiB a.pickle
"$MEMTOOL" check --json --max-peak 1GiB --no-oom a.pickle b.pickle || echo "exit $?"
