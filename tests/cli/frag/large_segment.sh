# large_segment_size_mb:64: what was free did not hold the segment.
"$MEMTOOL" frag "$TESTDATA/good/large_segment_oom.pickle"
