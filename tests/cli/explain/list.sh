"$MEMTOOL" explain
