"$MEMTOOL" completion fish >&-
