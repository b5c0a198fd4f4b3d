# What limits the figures is said: each file in one way or several.
for f in inconsistent.pickle context_ring3.pickle legacy.pickle no_traces.pickle list_only.pickle \
    old_keys.pickle torch20_history_oom.pickle.gz empty.pickle; do
    cp "$TESTDATA/good/$f" .
    "$MEMTOOL" info "$f" && echo
done
