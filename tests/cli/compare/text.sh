gzip -dc "$TESTDATA/demo/before.pickle.gz" >before.pickle
gzip -dc "$TESTDATA/demo/after.pickle.gz" >after.pickle
"$MEMTOOL" compare before.pickle after.pickle
"$MEMTOOL" compare --stack full -n 1 after.pickle before.pickle
"$MEMTOOL" compare --stack 2 after.pickle after.pickle | tail -n 1
