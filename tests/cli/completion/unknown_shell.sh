"$MEMTOOL" completion tcsh
