for e in svg png pdf; do
    "$MEMTOOL" segment_plot "$TESTDATA/good/graphs.pickle" -o a.$e --scale 1 && "$MEMTOOL" segment_plot "$TESTDATA/good/graphs.pickle" -o b.$e --scale 1
    cmp a.$e b.$e && echo "$e: the same bytes"
done
grep -o "private pool [0-9,]*\|CUDA graph, [a-z]*, stream [0-9]" a.svg | sort | uniq -c
"$MEMTOOL" segment_plot -s "$TESTDATA/good/graphs.pickle" -o c.svg
"$MEMTOOL" trace_plot -s "$TESTDATA/good/graphs.pickle" -o d.svg
cmp c.svg d.svg && echo "segment_plot -s is trace_plot -s"
