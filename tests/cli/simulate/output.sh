# SPDX-License-Identifier: MIT
# The written run is a recording under its settings; an existing file is not overwritten.
"$MEMTOOL" simulate --conf expandable_segments:True -o run.pickle "$TESTDATA/good/graphs.pickle" >/dev/null
"$MEMTOOL" simulate --no-what-if run.pickle
"$MEMTOOL" simulate --no-what-if -o run.json "$TESTDATA/good/graphs.pickle" >/dev/null
"$MEMTOOL" stats --json run.json | sed 1,5d >a
"$MEMTOOL" stats --json "$TESTDATA/good/graphs.pickle" | sed 1,5d >b
cmp a b
"$MEMTOOL" simulate -o run.pickle "$TESTDATA/good/graphs.pickle" 
