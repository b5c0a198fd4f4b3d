# SPDX-License-Identifier: MIT
# what a watcher measured of the card is the recorded run's, not the what-if's
"$MEMTOOL" convert "$TESTDATA/good/record_train.pickle" -o before.json
grep -q '"memtool":{"mode":"record"' before.json && echo 'there before'
"$MEMTOOL" simulate --conf expandable_segments:True -o after.json "$TESTDATA/good/record_train.pickle" >/dev/null
grep -q '"segments":' after.json && ! grep -q '"memtool":' after.json && echo 'gone after'
