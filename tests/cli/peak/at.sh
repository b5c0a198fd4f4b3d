# The end, an event, a time and the start: each headline says when it is.
for at in end 30 40ms start; do
    "$MEMTOOL" peak --at $at -n 1 "$TESTDATA/good/streams.pickle" || echo "exit $?"
done
