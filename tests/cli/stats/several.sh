# One JSON object a line; a bad file does not hide the others, and its exit code counts.
cp "$TESTDATA/good/graphs.pickle" a.pickle
cp "$TESTDATA/good/true_oom.pickle" c.pickle
"$MEMTOOL" stats --json a.pickle b.pickle c.pickle | cut -c -60
"$MEMTOOL" stats --json a.pickle b.pickle c.pickle >/dev/null 2>&1
