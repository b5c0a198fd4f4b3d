# SPDX-License-Identifier: MIT
# Events that share a stack unfold in JSON: a limit ends it, exit 6, and nothing is left behind.
cp "$TESTDATA/good/frag_oom.pickle" .
snap=frag_oom.pickle
"$MEMTOOL" trace -q --json -v "$snap" -o whole.json
size=$(sed 1d whole.json | wc -c)
"$MEMTOOL" trace -q --json -v --max-output "$size" "$snap" -o same.json && cmp whole.json same.json
"$MEMTOOL" trace -q --json -v --max-output $((size - 1)) "$snap" -o less.json 2>&1
test -e less.json || echo none
"$MEMTOOL" trace -q --json -v --max-output $((size - 1)) "$snap" >/dev/null 2>&1
echo $?
