"$MEMTOOL" peak
