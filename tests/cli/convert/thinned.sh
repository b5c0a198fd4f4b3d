# A long trace is thinned, which is said; the highest point stays.
"$MEMTOOL" convert --max-samples 100 "$TESTDATA/good/transformer.pickle.gz" -o t.perfetto.json
grep -c '"live bytes"' t.perfetto.json
grep -c '"ph":"b"' t.perfetto.json
grep '"live bytes"' t.perfetto.json | sed 's/.*"bytes":\([0-9]*\).*/\1/' | sort -n | tail -n 1
"$MEMTOOL" peak --json "$TESTDATA/good/transformer.pickle.gz" | grep peak_requested
"$MEMTOOL" convert --max-samples 0 "$TESTDATA/good/old_keys.pickle" -o u.perfetto.json
