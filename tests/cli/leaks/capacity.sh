"$MEMTOOL" leaks --capacity 1GiB "$TESTDATA/good/leak.pickle.gz" | grep "at this rate"
