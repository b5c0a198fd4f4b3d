# Actions that memtool does not know are counted under their own names.
"$MEMTOOL" stats --json "$TESTDATA/good/aliases.pickle" | grep -A 20 '"actions"'
