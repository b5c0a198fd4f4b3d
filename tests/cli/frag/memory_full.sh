# Nothing is cut up, and the request failed all the same: what it asked for, and what the card had.
"$MEMTOOL" frag "$TESTDATA/good/true_oom.pickle" | tail -n 3
