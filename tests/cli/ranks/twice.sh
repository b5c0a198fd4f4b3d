# one file twice would count twice
cp "$TESTDATA/good/frag_oom.pickle" a.pickle
mkdir d
cp a.pickle d
"$MEMTOOL" ranks a.pickle d/a.pickle a.pickle
