# Text as text, tips, no -o without a suffix that is known; the same bytes twice.
"$MEMTOOL" trace_plot "$TESTDATA/good/hostile_names.pickle" -o a.svg
"$MEMTOOL" trace_plot "$TESTDATA/good/hostile_names.pickle" -o - >b.svg
cmp a.svg b.svg && head -c 75 a.svg && echo
grep -c "<title>" a.svg
for e in png pdf; do
    "$MEMTOOL" trace_plot "$TESTDATA/good/graphs.pickle" -o a.$e --scale 1 --theme dark
    "$MEMTOOL" trace_plot "$TESTDATA/good/graphs.pickle" --format $e -o - --theme dark --scale 1 >b.$e
    cmp a.$e b.$e && echo "$e: the same bytes"
done
