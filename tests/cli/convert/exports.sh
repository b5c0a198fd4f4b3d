# What each export looks like.
cp "$TESTDATA/good/streams.pickle" snap.pickle
for format in folded speedscope perfetto csv; do
    echo "== $format"
    "$MEMTOOL" convert --at peak --format $format snap.pickle -o - | cut -c -140 | sed -n '1,6p;$p'
done
"$MEMTOOL" convert --at peak snap.pickle -o snap.pb.gz
echo "== pprof"
gzip -dc snap.pb.gz | grep -aoE "alloc_[a-z]*|inuse_[a-z]*|[a-z_/]*train_small.py"
