# The largest batch under a limit, for the recorded settings and another, as JSON.
cp "$TESTDATA"/fit/lstm_*.pickle.gz .
"$MEMTOOL" fit --json --what batch --limit 2GiB --conf expandable_segments:True lstm_?.pickle.gz | sed 's/"memtool":.*/"memtool": VERSION,/'
