# SPDX-License-Identifier: MIT
# The range of an inferred limit, which the picture tells in words, is in JSON as well: the same in
# three verbs, and null where the device refused the request.
snap="$TESTDATA/good/frag_oom.pickle"
"$MEMTOOL" trace_plot --json "$snap" | grep -A3 "\"limit\"" | tr -d "\t"
"$MEMTOOL" simulate --json "$snap" | grep -A3 "\"limit\"" | tr -d "\t"
"$MEMTOOL" triage --json "$snap" | grep "\"allowed" | tr -d "\t"
"$MEMTOOL" trace_plot --json "$TESTDATA/good/true_oom.pickle" | grep -A3 "\"limit\"" | tr -d "\t"
