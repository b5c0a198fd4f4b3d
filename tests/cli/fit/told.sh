# SPDX-License-Identifier: MIT
# What fits reserves no more than the limit, at most either; and what recordings do not bear out is said.
cp "$TESTDATA"/fit/lstm_*.pickle.gz .
for limit in 4550000000 5000000000; do
    "$MEMTOOL" fit --json --predict 48 --limit $limit lstm_?.pickle.gz | grep -A 6 '"size":	48' | grep 'bytes\|verdict'
done
# recordings whose peak is in another part of the program, from a third size on
"$MEMTOOL" fit --json --predict 1,8,16 lstm_[23].pickle.gz | grep -A 1 peak_elsewhere
