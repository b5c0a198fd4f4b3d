# No step is known: said so, and what is known of the peak; a period given; no events at all
cd "$TESTDATA/good" && "$MEMTOOL" steps pinned.pickle && "$MEMTOOL" steps --period 12 pinned.pickle && "$MEMTOOL" steps no_traces.pickle
