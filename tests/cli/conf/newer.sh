# SPDX-License-Identifier: MIT
# Keys of releases after the newest known: a recording proves them, else nothing is said of them.
"$MEMTOOL" conf "$TESTDATA/good/newest.pickle" | head -n 5; echo
"$MEMTOOL" conf --json "$TESTDATA/good/newest.pickle" | grep -e valid -e not_known
"$MEMTOOL" conf -q --torch 2.14 'a_new_key:[x:1,y:2],max_split_size_mb:64' | grep -e not -e '64.00'
"$MEMTOOL" conf -q --torch 2.14 --json a_new_key:1 | grep valid
"$MEMTOOL" conf a_new_key:1 | grep -e 2.13 -e torch
"$MEMTOOL" conf max_split_size_mb:64,expandable_segments:True | grep -A2 'note: together'
"$MEMTOOL" simulate -q --torch 2.14 --conf a_new_key:1 "$TESTDATA/good/graphs.pickle"; echo "exit $?"
