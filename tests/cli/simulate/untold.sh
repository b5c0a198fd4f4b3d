# Where settings fail that cure nothing is told with -v; the table says that they do.
cp "$TESTDATA/good/streams.pickle" snap.pickle
"$MEMTOOL" simulate --limit 60MiB --conf max_split_size_mb:64 --conf garbage_collection_threshold:0.8 snap.pickle
"$MEMTOOL" simulate -v -q --limit 60MiB --conf max_split_size_mb:64 --conf garbage_collection_threshold:0.8 snap.pickle | sed -n '/^$/,$p' | grep -v '^memtool'
