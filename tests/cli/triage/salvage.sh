# SPDX-License-Identifier: MIT
# The end was cut off: an out-of-memory event may have been in it.
head -c 30000 "$TESTDATA/good/frag_oom.pickle" > cut.pickle
"$MEMTOOL" triage -q --salvage cut.pickle
