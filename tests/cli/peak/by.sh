# Every way to group adds up to the same TOTAL.
for by in file line function folder annotation stream pool category; do
    "$MEMTOOL" peak --by $by -n 3 "$TESTDATA/good/transformer.pickle.gz" | sed -n "5,\$p" | sed "/by category/d"
done
