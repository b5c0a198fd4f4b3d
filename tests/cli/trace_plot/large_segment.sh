# large_segment_size_mb:64: the request takes a segment of 64 MiB, which was not free. No limit.
"$MEMTOOL" trace_plot -q -o p.svg "$TESTDATA/good/large_segment_oom.pickle"
grep -o 'On the device[^<]*' p.svg
