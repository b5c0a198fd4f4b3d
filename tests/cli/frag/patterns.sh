# What makes a cache large, and what each cure would save by replay.
for file in frag/dynamic_sizes frag/fpn_sizes programs/alternating programs/pyramid; do
    echo "$file"
    "$MEMTOOL" frag "$TESTDATA/$file.json.gz" | sed -n '/^The pattern/,/^Most of it/p'
done
"$MEMTOOL" frag --json "$TESTDATA/frag/fpn_sizes.json.gz" | sed -n '/"cures"/,/]/p'
