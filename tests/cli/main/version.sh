"$MEMTOOL" --version
"$MEMTOOL" completion --version
"$MEMTOOL" -V
