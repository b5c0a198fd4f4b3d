# Names of files may hold anything; what is printed of them is harmless.
name=$(printf 'a\nb\033[31mc')
cp "$TESTDATA/good/graphs.pickle" "$name"
"$MEMTOOL" stats "$name" | head -n 1
"$MEMTOOL" stats --json "$name" | grep '"file"'
"$MEMTOOL" info "$name" | head -n 1
"$MEMTOOL" stats "$name.missing"
