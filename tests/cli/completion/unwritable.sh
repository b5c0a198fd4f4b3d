"$MEMTOOL" completion fish >/dev/full
