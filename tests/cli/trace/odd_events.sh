# Unknown actions, annotations, pinned memory.
cp "$TESTDATA/good/aliases.pickle" "$TESTDATA/good/newest_keys.pickle" .
"$MEMTOOL" trace aliases.pickle | grep -E 'user_defined|workspace|Device'
"$MEMTOOL" trace newest_keys.pickle | grep -E 'annotate|Pinned|Device'
