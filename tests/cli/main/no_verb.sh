# A file where the verb stands: the obvious is done, and said.
cp "$TESTDATA/good/mlp.pickle.gz" a.pickle.gz
gzip -dc a.pickle.gz >b.pickle
cp "$TESTDATA/logs/frag_oom.log" train.log
gzip -c train.log >train.log.gz
mkdir job
cp b.pickle job/rank0.pickle
cp b.pickle job/rank1.pickle
"$MEMTOOL" -n 1 b.pickle 2>&1 | grep -E '^memtool|FILE|^b|Peak|TOTAL'
"$MEMTOOL" a.pickle.gz b.pickle 2>&1 | head -n 2
cp b.pickle job/rank2.pickle
"$MEMTOOL" job/rank*.pickle 2>&1 | head -n 2
"$MEMTOOL" job/rank0.pickle job/rank1.pickle 2>&1 | head -n 1
printf '[[1000, 2000, 3000], [[0, 512], [0, 1024], [0, 0]]]' >timeline.json
"$MEMTOOL" timeline.json 2>&1 | head -n 1
"$MEMTOOL" train.log 2>&1 | head -n 2
"$MEMTOOL" train.log.gz b.pickle 2>&1 | head -n 1
"$MEMTOOL" job 2>&1 | head -n 2
"$MEMTOOL" --json b.pickle 2>&1 | grep -E '^memtool|schema'
"$MEMTOOL" -q b.pickle 2>&1 | head -n 1
"$MEMTOOL" b.pikle 2>&1 || echo "exit $?"
