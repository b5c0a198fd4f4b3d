#!/bin/sh
# SPDX-License-Identifier: MIT
# Words that people try for a verb, and choices that are nearly right.
"$MEMTOOL" version | sed 's/[0-9.]*$/N/'
for word in oom graph diff what-if holes xyzzy; do
    "$MEMTOOL" "$word" 2>&1
done
f=$TESTDATA/good/leak.pickle.gz
"$MEMTOOL" peak --by stak "$f" 2>&1
"$MEMTOOL" peak --at pek "$f" 2>&1
"$MEMTOOL" peak --unit gib "$f" 2>&1
"$MEMTOOL" peak --pool larg "$f" 2>&1
"$MEMTOOL" peak --by xxxx "$f" 2>&1
"$MEMTOOL" trace_plot --format pgn "$f" 2>&1
"$MEMTOOL" estimate --params 7B --card h300 2>&1
exit 0
