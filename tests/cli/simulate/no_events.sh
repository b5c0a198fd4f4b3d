# SPDX-License-Identifier: MIT
cd "$TESTDATA/good" || exit
"$MEMTOOL" simulate --json no_traces.pickle | grep -c runs
"$MEMTOOL" simulate empty.pickle
