# A trace that does not fit its final state is drawn as far as it goes, and says so.
"$MEMTOOL" trace_plot "$TESTDATA/good/inconsistent.pickle" -o a.svg && "$MEMTOOL" segment_plot "$TESTDATA/good/inconsistent.pickle" --at start -o b.svg && ls
grep -o "[0-9]* events do not fit" b.svg
"$MEMTOOL" segment_plot --at start "$TESTDATA/good/inconsistent.pickle" | head -4
