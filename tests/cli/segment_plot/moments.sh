# Every way to name a moment; an OOM that never was is an error.
for at in peak end start 30 40ms; do
    "$MEMTOOL" segment_plot --ascii --at $at "$TESTDATA/good/streams.pickle" | head -3
done
"$MEMTOOL" segment_plot --at oom --ascii "$TESTDATA/good/frag_oom.pickle" | head -3
"$MEMTOOL" segment_plot --at oom "$TESTDATA/good/streams.pickle" 2>err
echo "exit $?"
"$MEMTOOL" segment_plot --at 99999 "$TESTDATA/good/streams.pickle" 2>>err
echo "exit $?"
"$MEMTOOL" segment_plot --at peek "$TESTDATA/good/streams.pickle" 2>>err
echo "exit $?"
sed "s|: [^ ]*/good|: good|" err >&2
