# The largest batch under a limit, for the recorded settings and another, as JSON.
cp "$TESTDATA"/fit/lstm_*.pickle.gz .
"$MEMTOOL" fit --json --sizes 4,8 --limit 2GiB --conf expandable_segments:True lstm_4.pickle.gz lstm_8.pickle.gz | sed 's/"memtool":.*/"memtool": VERSION,/'
