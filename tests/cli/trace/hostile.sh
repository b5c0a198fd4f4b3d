# Names of the file cannot reach the terminal, end a line, or become a formula.
for o in --csv --json ''; do
    "$MEMTOOL" trace $o -n 3 "$TESTDATA/good/hostile_names.pickle" | LC_ALL=C grep -c "$(printf '\033')"
    "$MEMTOOL" trace $o -n 3 "$TESTDATA/good/hostile_names.pickle" | wc -l
done
