# Every library of a process that was watched, and what the card reports beside it.
"$MEMTOOL" stats "$TESTDATA/good/record_train.pickle" | sed -n '/Who holds/,/^$/p'
"$MEMTOOL" stats --device-used 15GiB "$TESTDATA/good/record_heat.pickle" | sed -n '/Who holds/,/^$/p'
echo "less than was seen:"
"$MEMTOOL" stats --device-used 10GiB -n 1 "$TESTDATA/good/record_heat.pickle" | sed -n '/Who holds/,/^$/p'
