# The JSON of earlier runs says the same as the snapshots, in a pipe, in a file, one object a line or not.
cp "$TESTDATA"/ranks/* .
"$MEMTOOL" ranks *.gz >want
for verb in stats peak leaks; do "$MEMTOOL" $verb --json *.gz; done >results.ndjson
"$MEMTOOL" ranks - <results.ndjson | cmp - want && echo "a pipe: same"
"$MEMTOOL" ranks results.ndjson | cmp - want && echo "a file: same"
mkdir folder
for f in *.gz; do
    for verb in stats peak leaks; do "$MEMTOOL" $verb --json $f; done >folder/$f.json
done
"$MEMTOOL" ranks folder | cmp - want && echo "a folder of indented objects: same"
"$MEMTOOL" ranks --frame linear *.gz | sed -n 4,7p
"$MEMTOOL" peak --json --frame linear *.gz | "$MEMTOOL" ranks - | sed -n 4,7p
# Only figures: who is odd, but not why.
"$MEMTOOL" stats --json *.gz | "$MEMTOOL" ranks -
