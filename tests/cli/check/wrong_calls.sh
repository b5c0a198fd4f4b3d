cp "$TESTDATA/good/graphs.pickle" snap.pickle
try() { "$MEMTOOL" check "$@" || echo "exit $?"; }
try
try snap.pickle
try --max-peak snap.pickle
try --max-peak big snap.pickle
try --max-frag 120% snap.pickle
try --max-growth 5% snap.pickle
try --base snap.pickle --no-oom snap.pickle
try --base missing.pickle --max-growth 5% snap.pickle
try --no-oom missing.pickle
