# The peak in the picture is that of peak, for the whole trace (through filters: filters.sh).
for f in transformer.pickle.gz streams.pickle graphs.pickle leak.pickle.gz two_devices.pickle; do
    "$MEMTOOL" trace_plot --json "$TESTDATA/good/$f" | grep -o "\"peak_requested_bytes\":.*" >a
    "$MEMTOOL" peak --json "$TESTDATA/good/$f" | grep -o "\"peak_requested_bytes\":.*" >b
    cmp a b && echo "$f: $(wc -l <a) equal"
done
