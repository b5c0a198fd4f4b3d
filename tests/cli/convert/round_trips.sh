# Every good file as JSON, from JSON to pickle and back: the same bytes of JSON; and the same figures.
for f in "$TESTDATA"/good/*; do
    name=$(basename "$f")
    "$MEMTOOL" convert "$f" -o a.json && "$MEMTOOL" convert a.json -o b.pickle.gz &&
        "$MEMTOOL" convert b.pickle.gz -o b.json || echo "$name: failed"
    cmp -s a.json b.json || echo "$name: JSON differs"
    "$MEMTOOL" stats --json "$f" 2>/dev/null | sed 4d >a.stats
    "$MEMTOOL" stats --json b.pickle.gz 2>/dev/null | sed 4d >b.stats
    cmp -s a.stats b.stats || echo "$name: figures differ"
    rm -f a.json b.json b.pickle.gz
done
echo done
