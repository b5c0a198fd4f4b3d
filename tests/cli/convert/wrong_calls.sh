cp "$TESTDATA/good/graphs.pickle" snap.pickle
try() { "$MEMTOOL" convert "$@" || echo "exit $?"; }
try snap.pickle
try snap.pickle -o out.xyz
try snap.pickle -o -
try snap.pickle -o out.pickle --protocol 1
try snap.pickle -o out.pickle --protocol 6
try snap.pickle -o out.pickle --format html
try snap.pickle -o out.pickle --frame forward
try snap.pickle -o out.pickle --live
try snap.pickle -o out.folded --anonymize --frame x
try snap.pickle -o out.pickle --salt x
try snap.pickle -o - --format json --json
try snap.pickle snap.pickle -o out.pickle
try snap.pickle -o snap.pickle
try snap.pickle -o missing/out.pickle
try missing.pickle -o out.pickle
cp "$TESTDATA/bad/truncated.pickle" .
try truncated.pickle -o out.pickle
try snap.pickle --at oom -o out.folded
try snap.pickle --at 1000 -o out.folded
ls
