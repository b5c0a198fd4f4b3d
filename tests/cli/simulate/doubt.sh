# A replay that is not exact: the recording's own figures come from its events, no setting is recommended.
cp "$TESTDATA/good/old_keys.pickle" snap.pickle
"$MEMTOOL" simulate --conf expandable_segments:True snap.pickle
"$MEMTOOL" simulate --no-what-if --json snap.pickle | grep -E '"(exact|first_difference_event|num_ooms|reserved_bytes.all.peak|allocated_bytes.all.peak|num_device_alloc)"'
