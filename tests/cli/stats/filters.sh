# A filter's figures are of what it lets through, and it says how much it left out.
cp "$TESTDATA/good/graphs.pickle" snap.pickle
"$MEMTOOL" stats --pool 1,0 --unit KiB snap.pickle
"$MEMTOOL" stats --size 1MiB: --events 10:40 snap.pickle | tail -n 1
