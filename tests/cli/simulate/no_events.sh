# SPDX-License-Identifier: MIT
cd "$TESTDATA/good" || exit
"$MEMTOOL" simulate --json no_traces.pickle | grep -c runs
"$MEMTOOL" simulate empty.pickle
"$MEMTOOL" simulate no_traces.pickle
# triage advises what info does
"$MEMTOOL" info no_traces.pickle | grep next
"$MEMTOOL" triage no_traces.pickle | grep '^   *memtool'
