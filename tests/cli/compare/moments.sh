gzip -dc "$TESTDATA/good/mlp.pickle.gz" >a.pickle
gzip -dc "$TESTDATA/good/transformer.pickle.gz" >b.pickle
"$MEMTOOL" compare -n 3 a.pickle b.pickle
"$MEMTOOL" compare --by category a.pickle b.pickle
"$MEMTOOL" compare --at end -n 2 a.pickle b.pickle
"$MEMTOOL" compare --at step:1 -n 1 a.pickle b.pickle b.pickle
"$MEMTOOL" compare --at 100 --csv -n 1 a.pickle b.pickle
"$MEMTOOL" compare --json -n 1 --by file a.pickle b.pickle
cp "$TESTDATA/good/expandable_transformer.pickle.gz" c.pickle.gz
"$MEMTOOL" compare -n 1 b.pickle c.pickle.gz
cp "$TESTDATA/good/no_traces.pickle" d.pickle
"$MEMTOOL" compare -n 1 d.pickle b.pickle | head -n 1
"$MEMTOOL" compare --at oom a.pickle b.pickle || echo "exit $?"
"$MEMTOOL" compare --segments --at peak a.pickle b.pickle || echo "exit $?"
# A time that was not recorded is refused.
"$MEMTOOL" compare --at 1h a.pickle b.pickle || echo "exit $?"
"$MEMTOOL" stats --at 2020-01-01T00:00:00 a.pickle || echo "exit $?"
