# Names of files: whatever stands in them is a name, and is printed so that it does no harm.
new_line=$(printf 'a\nb.pickle')
escape=$(printf 'a\033[31m\033]0;x\007.pickle')
turned=$(printf 'a\342\200\256elkcip.pickle')
invalid=$(printf 'a\377.pickle')
long=$(head -c 5000 /dev/zero | tr '\0' n)
full=$(head -c 248 /dev/zero | tr '\0' n).pickle
for name in "$new_line" "$escape" "$turned" "$invalid" "$full" ./-n; do
    cp "$TESTDATA/good/empty.pickle" "$name"
    "$MEMTOOL" stats "$name" 2>&1 | head -n 1 | cut -c 1-60
    "$MEMTOOL" convert "$name" -o "$name.json" && test -s "$name.json" && echo written
    "$MEMTOOL" triage "$name.missing"
    "$MEMTOOL" peak --json "$name" | grep '"file"' | cut -c 1-60
done
"$MEMTOOL" stats -- -n | head -n 1
mkdir folder
for name in '' "$long" folder folder/ folder/missing - "$TESTDATA/good/empty.pickle/x"; do
    for verb in stats triage ranks 'estimate --config'; do
        $MEMTOOL $verb "$name" </dev/null
        echo "exit $?: $verb" >&2
    done
done 2>&1 | sed "s,$TESTDATA,TESTDATA," | cut -c 1-120
"$MEMTOOL" stats "$new_line" -o ''
"$MEMTOOL" stats "$new_line" -o folder/
"$MEMTOOL" stats "$new_line" -o "$long"
"$MEMTOOL" stats "$new_line" -o "$(printf 'no\033\nfolder/x')"
ls -A folder
