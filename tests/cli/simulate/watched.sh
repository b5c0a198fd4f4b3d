# A watched process has no allocator whose settings could be "as recorded".
"$MEMTOOL" simulate "$TESTDATA/good/record_heat.pickle" | sed -n '1,3p; /VERDICT/,/expandable/p; /at event/p'
"$MEMTOOL" simulate --conf max_split_size_mb:64 "$TESTDATA/good/cache_c_program.pickle" | grep 'Device\|as recorded'
