# Five epochs alike, then one that is not.
table() { "$MEMTOOL" summary "$TESTDATA/good/graphs.pickle" | sed "s/| Allocated memory .*/| Allocated memory      | $1 KiB |            |            |            |/"; }
for kib in " 97000" " 97010" " 97000" " 97005" "120000" "120010"; do table "$kib"; done >train.log
"$MEMTOOL" summary train.log
