# Every verb has a help of one screen, two of its options or more, and the whole list behind --help.
for verb in $("$MEMTOOL" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z_]*\) .*/\1/p'); do
    lines=$("$MEMTOOL" "$verb" -h | wc -l)
    [ "$lines" -le 36 ] || echo "$verb -h has $lines lines"
    "$MEMTOOL" "$verb" -h | grep -q "^usage: memtool $verb" || echo "$verb -h has no usage"
    "$MEMTOOL" "$verb" --help | grep -q -- '--json' || echo "$verb --help does not list --json"
    "$MEMTOOL" "$verb" --help | awk -v v="$verb" 'length > 100 { print v ": too long: " $0 }'
    [ "$("$MEMTOOL" help "$verb")" = "$("$MEMTOOL" "$verb" --help)" ] || echo "help $verb differs"
done
