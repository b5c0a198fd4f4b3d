# No name of the original is left, and every figure stays.
figures() { # without names; the empty stack of a name is kept
    "$MEMTOOL" "$1" --json -n 0 "$2" | grep -vE '"(file|name|filename)":'
}
for f in graphs.pickle newest_keys.pickle leak.pickle.gz streams.pickle hostile_names.pickle torch20_history_oom.pickle.gz; do
    "$MEMTOOL" convert --anonymize "$TESTDATA/good/$f" -o masked.pickle
    for verb in stats peak leaks steps frag; do
        figures $verb "$TESTDATA/good/$f" >a 2>/dev/null
        figures $verb masked.pickle >b 2>/dev/null
        cmp -s a b || { echo "$f: $verb differs" && diff a b | head -n 5; }
    done
    grep -acE 'site-packages|/workspace|train_small|__init__|_call_impl|C:.temp|useruser' masked.pickle
    rm masked.pickle
done
# The same salt, the same names: two files stay comparable.
"$MEMTOOL" convert --anonymize --salt s "$TESTDATA/demo/before.pickle.gz" -o a.pickle
"$MEMTOOL" convert --anonymize --salt s "$TESTDATA/demo/after.pickle.gz" -o b.pickle
for files in "a.pickle b.pickle" "$TESTDATA/demo/before.pickle.gz $TESTDATA/demo/after.pickle.gz"; do
    # shellcheck disable=SC2086
    "$MEMTOOL" compare --json -n 4 $files | grep -E '"(delta_bytes|status)"' | tr -d '\n\t'
    echo
done
"$MEMTOOL" convert --anonymize "$TESTDATA/good/streams.pickle" -o - --format folded | head -n 2
