# What a size that does not fit would need, and the cures by replay, with a card's memory as the bound.
cp "$TESTDATA"/fit/lstm_*.pickle.gz .
"$MEMTOOL" fit --what batch --predict 24 --card 3GiB --advise lstm_?.pickle.gz
"$MEMTOOL" fit --what batch --limit 2GiB --advise --json lstm_?.pickle.gz | sed -n '/"advice"/,/"doubts"/p'
