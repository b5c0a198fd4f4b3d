# The name of a file cannot move the cursor or begin a line.
name=$(printf 'a\nb\033[31m.pickle')
cp "$TESTDATA/good/leak.pickle.gz" "$name"
"$MEMTOOL" compare "$name" "$name" | grep -E '^(before|after|b)'
