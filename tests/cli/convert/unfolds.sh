# A kilobyte of lists that name one another would unfold to terabytes: the limit ends it, exit 6,
# and nothing is left behind.
python3 - <<'END'
import pickle
deep = ["lol"] * 10
for _ in range(9):
    deep = [deep] * 10
keys = {"a": 1}
for _ in range(60):
    keys = {"a": keys, "b": keys}
for name, value in (("lists", deep), ("keys", keys)):
    with open(name + ".pickle", "wb") as f:
        pickle.dump({"segments": [], "device_traces": [[]], "note": value}, f)
END
for input in lists keys; do
    for output in out.json out.json.gz out.pickle; do
        "$MEMTOOL" convert --max-output 1MiB $input.pickle -o $output
        echo "$input $output exit $?"
    done
done
# Just enough is enough.
"$MEMTOOL" convert "$TESTDATA/good/plain.json.gz" -o whole.json
size=$(wc -c <whole.json)
"$MEMTOOL" convert --max-output "$size" "$TESTDATA/good/plain.json.gz" -o same.json && cmp whole.json same.json
"$MEMTOOL" convert --max-output $((size - 1)) "$TESTDATA/good/plain.json.gz" -o less.json
echo "exit $?"
ls
