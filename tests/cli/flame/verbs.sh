# -o x.svg makes a flame graph of what the verb reports.
for v in memory segments peak; do
    "$MEMTOOL" $v "$TESTDATA/good/transformer.pickle.gz" -o $v.svg
    echo "$v: $(grep -c "class=\"f\"" $v.svg) frames, $(grep -o "[0-9.]* MiB [a-z ]* in [0-9]* blocks" $v.svg)"
done
"$MEMTOOL" compare "$TESTDATA/demo/before.pickle.gz" "$TESTDATA/demo/after.pickle.gz" -o c.svg
grep -o ">[^<]*red grew, blue shrank" c.svg
"$MEMTOOL" memory "$TESTDATA/good/empty.pickle" -o e.svg && grep -o "nothing is in use" e.svg
"$MEMTOOL" memory "$TESTDATA/good/hostile_names.pickle" -o h.png && "$MEMTOOL" memory "$TESTDATA/good/hostile_names.pickle" -o h.pdf && ls
