# SPDX-License-Identifier: MIT
# What fits reserves no more than the limit, at most either.
cp "$TESTDATA"/fit/lstm_*.pickle.gz .
for limit in 4550000000 5000000000; do
    "$MEMTOOL" fit --json --predict 48 --limit $limit lstm_?.pickle.gz | grep -A 6 '"size":	48' | grep 'bytes\|verdict'
done
