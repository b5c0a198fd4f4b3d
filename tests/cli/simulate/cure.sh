# the setting serves what failed, and a leak comes again
gzip -dc "$TESTDATA/demo/snap.pickle.gz" >snap.pickle
"$MEMTOOL" simulate --conf expandable_segments:True snap.pickle | tail -n 3
